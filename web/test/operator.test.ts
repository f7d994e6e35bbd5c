import assert from "node:assert/strict";
import test from "node:test";

import { Client } from "../src/api/client.ts";
import { Problem } from "../src/api/problems.ts";
import { decisionOf, mayEnd } from "../src/operator/deciding.ts";
import type { Approval, Packet } from "../src/operator/lists.ts";
import { look, Meter, speeds, Tail, warnings, withSample, type Sample } from "../src/operator/live.ts";
import { address, CSV_PAGES_MAX, Rows, TooLongError, wholeCsv, wholeTable } from "../src/operator/pages.ts";
import { cellOf, sheetOf } from "../src/operator/sheet.ts";
import { Duties, rolesOf } from "../src/operator/roles.ts";
import { routeOf } from "../src/operator/routes.ts";

/** Creates a client for an API that returns *answers* in order, and then repeats the last one. */
function asking(...answers: (() => Response)[]) {
  const requests: { url: string; accept: string | null }[] = [];
  const client = new Client({
    base: "",
    token: () => "t",
    sleep: () => Promise.resolve(),
    fetch: (url, init) => {
      requests.push({ url: url as string, accept: new Headers(init?.headers).get("Accept") });
      return Promise.resolve((answers[requests.length - 1] ?? answers.at(-1)!)());
    },
  });
  return { client, requests };
}

const page = (items: number[], next: string | null) => () => Response.json({ items, next });
const refusal = (status: number, code: string) => () => Response.json({ code }, { status });
const csv = (text: string, next?: string) => () =>
  new Response(text, { headers: next ? { "X-Next-Cursor": next } : {} });

test("a list continues after short and empty pages, and then ends", async () => {
  const { client, requests } = asking(page([], "a b"), page([1], "c"), page([2, 3], null));
  const rows = new Rows<number>(client, "/admin/packets", { status: "open", sender: "" });

  await rows.more();
  assert.deepEqual([rows.items, rows.next], [[1], "c"]);
  await rows.more();
  assert.deepEqual([rows.items, rows.next], [[1, 2, 3], null]);
  await rows.more();

  assert.deepEqual(
    requests.map(({ url }) => url),
    ["/admin/packets?status=open", "/admin/packets?status=open&cursor=a+b", "/admin/packets?status=open&cursor=c"],
  );
});

test("a list with many empty pages asks the reader before it continues", async () => {
  const { client, requests } = asking(page([], "on"));
  const rows = new Rows<number>(client, "/x");
  await rows.more();
  assert.deepEqual([requests.length, rows.next], [10, "on"]);
});

test("after a failed page, the list keeps its rows and reads the page again", async () => {
  const { client } = asking(page([1], "c"), refusal(403, "forbidden"), page([2], null));
  const rows = new Rows<number>(client, "/x");
  await rows.more();
  await assert.rejects(rows.more(), { code: "forbidden" });
  assert.deepEqual([rows.items, rows.next], [[1], "c"]);
  await rows.more();
  assert.deepEqual(rows.items, [1, 2]);
});

test("an answer replaces only its own row", () => {
  const rows = new Rows<{ id: number; status: string }>(asking(page([], null)).client, "/x");
  rows.items = [{ id: 1, status: "won" }, { id: 2, status: "won" }];
  rows.replace(({ id }) => id === 2, { status: "forfeited" });
  assert.deepEqual(rows.items, [{ id: 1, status: "won" }, { id: 2, status: "forfeited" }]);
});

test("all CSV pages become one file with one header", async () => {
  const head = '"user","note"\r\n';
  const { client, requests } = asking(
    csv(`${head}"a","two\r\nlines"\r\n`, "c1"),
    csv(head, "c2"),
    refusal(503, "unavailable"),
    csv(`${head}"b","'=1+1"\r\n`),
  );
  const progress: number[] = [];

  const text = await wholeCsv(client, "/admin/x", { status: "won" }, (n) => progress.push(n));

  assert.equal(text, `${head}"a","two\r\nlines"\r\n"b","'=1+1"\r\n`);
  assert.deepEqual(progress, [1, 2, 3]);
  assert.equal(requests[1]!.url, "/admin/x?status=won&limit=100&cursor=c1");
  assert.ok(requests.every(({ accept }) => accept === "text/csv"));
});

test("an interrupted or endless CSV returns nothing", async () => {
  const cut = asking(csv("h\r\n1\r\n", "c"), refusal(403, "forbidden"));
  await assert.rejects(wholeCsv(cut.client, "/x"), { code: "forbidden" });
  const endless = asking(csv("h\r\n1\r\n", "c"));
  await assert.rejects(wholeCsv(endless.client, "/x"), TooLongError);
  assert.equal(endless.requests.length, CSV_PAGES_MAX);
});

test("a sheet has the CSV's columns, with typed values", async () => {
  const rows = [{ user: "00123", amount_fen: 5, paid_at_ms: 0, sum_yuan: "1.50", note: "=1+1", other: 1 }];
  const { client, requests } = asking(
    csv('"user","amount_fen","paid_at_ms","sum_yuan","note"\r\n'),
    page(rows as never[], "c1"),
    page([{ ...rows[0], note: null }] as never[], null),
  );

  const table = await wholeTable(client, "/admin/x", { status: "won" });
  const cells = table.columns.map((column) => cellOf(column, table.items[0]![column]));
  const file = new Uint8Array(await (await sheetOf(table)).arrayBuffer());

  assert.deepEqual(table.columns, ["user", "amount_fen", "paid_at_ms", "sum_yuan", "note"]);
  assert.equal(requests[2]!.url, "/admin/x?status=won&limit=100&cursor=c1");
  assert.deepEqual(cells.map((cell) => typeof (cell as { value: unknown }).value), ["string", "number", "object", "number", "string"]);
  assert.equal(cellOf("note", null), null);
  assert.deepEqual([...file.slice(0, 2)], [...Buffer.from("PK")]);
});

const APPROVAL: Approval = {
  approval_id: "0".repeat(32),
  kind: "deposit",
  status: "awaiting",
  operator: { id: "alice", user: null, name: null },
  asked_by: { id: "alice", user: null, name: null },
  subject_user: null,
  subject_name: null,
  summary: "",
  payee: "carol",
  payee_user: "carol@host",
  subject: "user:carol",
  amount_fen: 1,
  version: null,
  changes: [],
  asked_at_ms: 0,
  decided_by: null,
  decided_by_user: null,
  decided_at_ms: null,
  is_applied: false,
  refusal: null,
};

test("another operator, who is not paid, decides an approval", () => {
  assert.equal(decisionOf(APPROVAL, "bob"), "decide");
  assert.equal(decisionOf(APPROVAL, "alice"), "own");
  assert.equal(decisionOf(APPROVAL, "carol"), "payee");
});

test("an ended approval is not decided again; any other operator can finish an interrupted one", () => {
  for (const status of ["rejected", "expired"] as const) {
    assert.equal(decisionOf({ ...APPROVAL, status }, "bob"), "over");
  }
  const approved: Approval = { ...APPROVAL, status: "approved", decided_by: "bob" };
  assert.equal(decisionOf({ ...approved, is_applied: true }, "bob"), "over");
  assert.equal(decisionOf({ ...approved, refusal: "version_conflict" }, "bob"), "over");
  assert.equal(decisionOf(approved, "dan"), "finish");
  assert.equal(decisionOf(approved, "alice"), "own");
});

test("operators end campaign packets, administrators end other packets, and no one ends prizes", () => {
  const packet = (changes: Partial<Packet>) =>
    ({ status: "open", campaign_id: "spring", prize_id: null, ...changes }) as Packet;
  const [operate, admin, audit] = ["operate", "admin", "audit"].map((role) => new Duties(`hongbao/${role}`));

  assert.deepEqual([operate, admin, audit].map((duties) => mayEnd(packet({}), duties!)), [true, true, false]);
  const other = packet({ campaign_id: null, status: "unpaid" });
  assert.deepEqual([operate, admin].map((duties) => mayEnd(other, duties!)), [false, true]);
  for (const over of [{ prize_id: "tea" }, { status: "closing" }, { status: "emptied" }] as const) {
    assert.ok(!mayEnd(packet(over), admin!));
  }
});

test("a role shows its duties, and a 403 hides the refused duty", () => {
  assert.deepEqual(rolesOf("openid hongbao/treasury hongbao/none"), ["treasury"]);
  const duties = new Duties("openid hongbao/treasury");
  assert.ok(duties.may("deposit") && duties.may("approve") && duties.may("read"));
  assert.ok(!duties.may("see_journal") && !duties.may("switch") && !duties.may("decide_winner"));

  duties.note("approve", new Problem("four_eyes", 403));
  assert.ok(duties.may("approve"));
  duties.note("deposit", new Problem("forbidden", 403));
  assert.ok(!duties.may("deposit") && duties.may("approve"));
  assert.ok(!new Duties("openid").may("read"));
});

test("claims per second cover the last ten seconds", () => {
  const meter = new Meter();
  meter.note(0, 0);
  assert.equal(meter.perSecond, undefined);
  meter.note(2_000, 100);
  assert.equal(meter.perSecond, 50);
  meter.note(60_000, 100);
  meter.note(62_000, 100);
  meter.note(70_000, 100);
  meter.note(72_000, 100);
  assert.equal(meter.perSecond, 0);
});

const CAMPAIGN = {
  status: "on",
  budget_fen: 1_000,
  budget_left_fen: 1_000,
  prizes: [{ title: "tea", total: 10, issued: 4, is_sold_out: false }],
} as unknown as Parameters<typeof warnings>[0];

test("a campaign's counts include prizes and packets, but prize packets only once", async () => {
  const { client, requests } = asking(() =>
    Response.json({ claimed_count: 3, remaining_count: 7, total_fen: 1000, claimed_fen: 300 }),
  );
  const packet = (id: string, status: string, prize_id: string | null = null) =>
    ({ packet_id: id, status, prize_id, claimed_count: status === "closed" ? 5 : null }) as unknown as
      Parameters<typeof look>[2][number];

  const seen = await look(client, CAMPAIGN, [
    packet("a~2", "open"), packet("b", "closed"), packet("c", "open", "cash"), packet("d", "cancelled"),
  ]);

  assert.deepEqual(seen, { taken: 4 + 3 + 5, left: 6 + 7, packets: 3, unclaimedFen: 700, unfollowed: 0 });
  assert.deepEqual(requests.map(({ url }) => url), ["/packets/a~2/feed?limit=1"]);
});

test("a campaign's problems cause warnings", () => {
  assert.deepEqual(warnings(CAMPAIGN, [{ name: "pay", on: false, reason: "", changed_at_ms: 0 }]), []);
  const bad = {
    ...CAMPAIGN,
    status: "off",
    budget_left_fen: 99,
    prizes: [{ ...CAMPAIGN.prizes[0]!, is_sold_out: true }],
  } as typeof CAMPAIGN;
  assert.deepEqual(warnings(bad, [{ name: "grab", on: false, reason: "why", changed_at_ms: 0 }]), [
    { kind: "paused" },
    { kind: "switch_off", name: "grab", reason: "why" },
    { kind: "budget_low", percent: 9 },
    { kind: "sold_out", prize: "tea" },
  ]);
});

const PACKET = "n9C2D0-tuq_Sc61fJ7WGjQuADXuOZhG~2";

test("paths of the console lead to their views", () => {
  assert.deepEqual(routeOf("/operator"), { place: "campaigns", id: "" });
  assert.deepEqual(routeOf("/operator/campaigns/spring/winners"), { place: "winners", id: "spring" });
  assert.deepEqual(routeOf(`/operator/packets/${PACKET}`), { place: "claims", id: PACKET });
  assert.deepEqual(routeOf(`/operator/packets/${PACKET.replace("~", "%7E")}`), { place: "claims", id: PACKET });
  assert.equal(routeOf("/operators").place, "lost");
  assert.equal(address("/x", { a: "", b: undefined, c: "&" }), "/x?c=%26");
});

test("old samples are thinned out, and their rates per second stay correct", () => {
  let samples: Sample[] = [];
  for (let at = 0; at < 2_000; at++) samples = withSample(samples, { atMs: at * 2_000, taken: at * 10, budgetLeftFen: 0 });
  assert.ok(samples.length <= 600);
  assert.equal(samples[0]!.atMs, 0);
  assert.equal(samples.at(-1)!.atMs, 1_999 * 2_000);
  assert.ok(speeds(samples).every((speed) => speed === 5));
});

test("later reads of a list continue from its last page", async () => {
  const { client, requests } = asking(page([1, 2], "b"), page([3], null), page([3, 4], null));
  const tail = new Tail<number>(client, "/x", { prize_id: "tea" });
  assert.deepEqual(await tail.read(), [1, 2, 3]);
  assert.deepEqual(await tail.read(), [1, 2, 3, 4]);
  assert.deepEqual(
    requests.map(({ url }) => url),
    ["/x?prize_id=tea&limit=100", ...Array<string>(2).fill("/x?prize_id=tea&limit=100&cursor=b")],
  );
});
