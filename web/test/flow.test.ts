import assert from "node:assert/strict";
import test from "node:test";

import type { Ask, Client } from "../src/api/client.ts";
import { Problem, type Code } from "../src/api/problems.ts";
import { p } from "../src/i18n/packet.ts";
import { announcement } from "../src/packet/cover.ts";
import { PacketFlow } from "../src/packet/flow.ts";
import { insideView } from "../src/packet/inside.ts";

const NOW_MS = 1_000_000;
const RECORD = {
  status: "open",
  remaining_count: 3,
  starts_at_ms: 0,
  expires_at_ms: NOW_MS + 60_000,
  mine: null,
  is_exclusive: false,
  sender: { nickname: "Ann" },
};
const CLAIM = { outcome: "claimed", amount_fen: 888, share_no: 2, claimed_at_ms: NOW_MS, payout: "settled" };
const FEED = { status: "open", remaining_count: 3, sender: { nickname: "Ann" }, claims: [], next: null };

type Answer = object | ((ask: Ask) => unknown);

/** Creates a viewer of one packet. Each route returns its *answers* in order, and then repeats the last one. */
function viewer(answers: Record<string, Answer[]>, { isSignedIn = true, packetId = "p" } = {}) {
  Object.assign(globalThis, {
    document: { hidden: false, addEventListener: () => undefined, removeEventListener: () => undefined },
  });
  const requests: { path: string; body: unknown }[] = [];
  const clock = { nowMs: NOW_MS };
  const ask = (method: string, path: string, options: Ask = {}) => {
    const route = `${method} ${path.replace("/packets/p", "").replace(/\?.*/, "")}`;
    requests.push({ path: route, body: options.body });
    const left = answers[route] ?? [];
    const answer = left.length > 1 ? left.shift() : left[0];
    if (answer instanceof Error) return Promise.reject(answer);
    return Promise.resolve(typeof answer === "function" ? (answer as (ask: Ask) => unknown)(options) : answer);
  };
  const client = { isSignedIn, ask, get: (path: string, options?: Ask) => ask("GET", path, options) };
  const states: string[] = [];
  const flow: PacketFlow = new PacketFlow({
    client: client as unknown as Client,
    packetId,
    changed: () => states.push(flow.state),
    now: () => clock.nowMs,
    random: () => 0,
    sleep: (ms) => {
      clock.nowMs += ms;
      return Promise.resolve();
    },
    isCalm: true,
  });
  return { flow, requests, states, clock };
}

const refused = (code: Code, retryAfterS?: number) => new Problem(code, 400, retryAfterS);
const turns = async () => {
  for (let turn = 0; turn < 20; turn++) await Promise.resolve();
};

/** Returns the text parts of a template. */
function textOf(part: unknown): string {
  if (Array.isArray(part)) return part.map(textOf).join(" ");
  if (typeof part === "object" && part && "strings" in part && "values" in part) {
    return `${textOf(part.strings)} ${textOf(part.values)}`;
  }
  return typeof part === "string" ? part : "";
}

test("an id from a crafted link stays within its packet's path", async () => {
  const { flow, requests } = viewer({}, { packetId: "../me/withdrawals?x=#" });

  await flow.load();

  assert.deepEqual(requests, [{ path: "GET /packets/..%2Fme%2Fwithdrawals%3Fx%3D%23", body: undefined }]);
});

test("a packet that others emptied while the page was hidden shows its current state", async () => {
  const { flow } = viewer({ "GET ": [RECORD, RECORD, { ...RECORD, status: "emptied", remaining_count: 0 }] });
  await flow.load();

  await flow.refresh();
  assert.equal(flow.state, "ready");
  await flow.refresh();
  assert.equal(flow.state, "gone");
  flow.end();
});

test("a return to the page changes nothing without an answer or after the packet is opened", async () => {
  const { flow } = viewer({ "GET ": [RECORD, refused("offline")], "POST /grab": [CLAIM] });
  await flow.load();
  await flow.refresh();
  assert.deepEqual([flow.state, flow.problem], ["ready", undefined]);

  await flow.take();
  await flow.refresh();
  assert.equal(flow.state, "opened");
  flow.end();
});

test("a tap claims a share", async () => {
  const { flow, states } = viewer({ "GET ": [RECORD], "POST /grab": [CLAIM] });
  await flow.load();
  await flow.take();
  flow.end();

  assert.equal(flow.claim?.amount_fen, 888);
  assert.equal(flow.isRepeat, false);
  assert.deepEqual([...new Set(states)], ["ready", "opening", "opened"]);
});

test("two taps send one request", async () => {
  const { flow, requests } = viewer({ "GET ": [RECORD], "POST /grab": [CLAIM] });
  await flow.load();
  await Promise.all([flow.take(), flow.take()]);
  flow.end();

  assert.equal(requests.filter(({ path }) => path === "POST /grab").length, 1);
});

test("the first of two steps admits, and the second opens with the token", async () => {
  const admission = { outcome: "admitted", grab_token: "g", expires_at_ms: NOW_MS + 5000 };
  const { flow, requests } = viewer({ "GET ": [RECORD], "POST /grab": [admission], "POST /open": [CLAIM] });
  await flow.load();
  await flow.take();
  assert.equal(flow.state, "admitted");

  await flow.take();
  flow.end();

  assert.deepEqual(requests.find(({ path }) => path === "POST /open")?.body, { grab_token: "g" });
  assert.equal(flow.state, "opened");
});

test("a sender follows their packet without opening it, and may claim a share", async () => {
  const { flow, requests } = viewer({
    "GET ": [{ ...RECORD, is_sender: true }],
    "GET /feed": [FEED],
    "POST /grab": [CLAIM],
  });
  await flow.load();
  await turns();
  assert.equal(flow.state, "watching");
  assert.equal(flow.live.feed?.remaining_count, 3);

  flow.showCover();
  assert.equal(flow.state, "ready");
  await flow.take();
  flow.end();

  assert.equal(flow.state, "opened");
  assert.equal(requests.filter(({ path }) => path === "POST /grab").length, 1);
});

for (const isSignedIn of [true, false]) {
  test(`a reader, signed in: ${isSignedIn}, watches the list before opening, once the list has a row`, async () => {
    const taken = { claimed_count: 1 };
    const { flow } = viewer({ "GET ": [{ ...RECORD, ...taken }], "GET /feed": [{ ...FEED, ...taken }] }, { isSignedIn });
    await flow.load();
    const cover = flow.state;
    assert.equal(flow.canWatch, true);

    flow.watch();
    await turns();
    assert.deepEqual([flow.state, flow.canWatch, flow.live.feed?.claimed_count], ["watching", false, 1]);
    flow.showCover();
    flow.end();

    assert.equal(flow.state, cover);
  });
}

test("after a rejected token, the list leads back to the sign-in", async () => {
  const record = { ...RECORD, claimed_count: 1 };
  const { flow } = viewer({ "GET ": [record], "GET /feed": [FEED], "POST /grab": [refused("unauthorized")] });
  await flow.load();
  await flow.take();
  assert.equal(flow.state, "signed_out");

  flow.watch();
  flow.showCover();
  flow.end();

  assert.equal(flow.state, "signed_out");
});

for (const [status, left, word] of [
  ["emptied", 0, "gone"],
  ["closing", 2, "expired"],
  ["closed", 2, "expired"],
] as const) {
  test(`the list shows that the packet is ${status}, and offers no share`, async () => {
    const taken = { claimed_count: 1 };
    const ended = { ...FEED, ...taken, status, remaining_count: left, emptied_in_ms: null, claimed_fen: null };
    const { flow } = viewer({ "GET ": [{ ...RECORD, ...taken }], "GET /feed": [{ ...ended, status: "open" }, ended] });
    await flow.load();
    flow.watch();
    await turns();
    await flow.live.ask();
    flow.end();

    const text = textOf(insideView(flow, undefined));
    assert.ok(text.includes(p(word)), text);
    assert.equal(announcement(flow), p(word));
    for (const other of [p("take_own"), p("left", { n: left })]) assert.ok(!text.includes(other), other);
  });
}

test("a packet without claims has no list to watch", async () => {
  const { flow } = viewer({ "GET ": [{ ...RECORD, claimed_count: 0 }] });
  await flow.load();

  assert.deepEqual([flow.state, flow.canWatch], ["ready", false]);
});

test("a sender sees the end of their packet as all users do", async () => {
  const { flow } = viewer({ "GET ": [{ ...RECORD, is_sender: true, status: "emptied" }], "GET /feed": [FEED] });
  await flow.load();
  flow.end();

  assert.equal(flow.state, "gone");
});

test("thanks appear at once, and after a refusal as the API stored them", async () => {
  const mine = { ...CLAIM, thanks: null, thanks_text: null };
  const { flow, requests } = viewer({
    "GET ": [{ ...RECORD, mine }, { ...RECORD, mine: { ...mine, thanks: "🎉", thanks_text: "谢谢" } }],
    "GET /feed": [FEED],
    "POST /thanks": [{ thanks: "🙏" }, refused("already_thanked")],
  });
  await flow.load();
  const first = flow.thank({ emoji: "🙏" });
  assert.deepEqual(flow.thanks, { emoji: "🙏" });
  await first;
  assert.deepEqual(requests.at(-1), { path: "POST /thanks", body: { emoji: "🙏" } });

  await flow.thank({ text: "谢谢老板" });
  flow.end();

  assert.deepEqual(requests.at(-2), { path: "POST /thanks", body: { text: "谢谢老板" } });
  assert.deepEqual(flow.thanks, { emoji: "🎉", text: "谢谢" });
  assert.equal(flow.thanksProblem, "already_thanked");
});

test("an expired admission leads back to the first step", async () => {
  const admission = { outcome: "admitted", grab_token: "g", expires_at_ms: NOW_MS + 5000 };
  const answers = { "GET ": [RECORD], "POST /grab": [admission], "POST /open": [refused("grab_token_invalid")] };
  const { flow, requests } = viewer(answers);
  await flow.load();
  for (let tap = 0; tap < 3; tap++) await flow.take();

  assert.deepEqual(requests.map(({ path }) => path), ["GET ", "POST /grab", "POST /open", "POST /grab"]);
});

test("an unknown outcome is shown, and the request is retried", async () => {
  const answer = (ask: Ask) => {
    ask.onRepeat?.(refused("unavailable", 1));
    return CLAIM;
  };
  const { flow, states } = viewer({ "GET ": [RECORD], "POST /grab": [answer] });
  await flow.load();
  await flow.take();
  flow.end();

  assert.ok(states.includes("confirming"));
  assert.equal(flow.state, "opened");
});

test("each refusal leads to the state of its code", async () => {
  const ends = {
    packet_emptied: "gone",
    packet_expired: "expired",
    not_invited: "refused",
    quota_exhausted: "refused",
    passphrase_mismatch: "ready",
    packet_not_found: "missing",
  } as const;
  for (const [code, state] of Object.entries(ends)) {
    const { flow } = viewer({ "GET ": [RECORD], "GET /feed": [FEED], "POST /grab": [refused(code as Code)] });
    await flow.load();
    await flow.take("word");
    flow.end();

    assert.deepEqual([flow.state, flow.problem], [state, code]);
  }
});

test("a refusal with a wait disables the button for that time", async () => {
  const { flow, clock } = viewer({ "GET ": [RECORD], "POST /grab": [refused("rate_limited", 7)] });
  await flow.load();
  await flow.take();
  const until = flow.waitUntilMs;
  clock.nowMs = until - 1;
  assert.equal(flow.canTap, false);

  clock.nowMs = until;
  assert.equal(flow.canTap, true);
  flow.end();
});

test("a packet waits for its start and is then ready", async () => {
  const { flow, states, clock } = viewer({ "GET ": [{ ...RECORD, starts_at_ms: NOW_MS + 3500 }] });
  await flow.load();
  assert.equal(flow.state, "waiting");

  await turns();

  assert.equal(flow.state, "ready");
  assert.ok(clock.nowMs >= NOW_MS + 3500);
  assert.ok(states.length > 3, "the countdown is shown");
});

test("a viewer with a share sees the share without a tap", async () => {
  const { flow } = viewer({ "GET ": [{ ...RECORD, mine: CLAIM }] });
  await flow.load();
  flow.end();

  assert.equal(flow.state, "opened");
  assert.equal(flow.isRepeat, true);
});

test("a visitor without a token sees the cover, and must sign in to open it", async () => {
  const { flow, requests } = viewer({ "GET /feed": [FEED] }, { isSignedIn: false });
  await flow.load();

  assert.deepEqual([flow.state, flow.cover?.nickname], ["signed_out", "Ann"]);
  assert.deepEqual(requests.map(({ path }) => path), ["GET /feed"]);
});

test("without a token, an exclusive packet looks like a missing one", async () => {
  const { flow } = viewer({ "GET /feed": [refused("packet_not_found")] }, { isSignedIn: false });
  await flow.load();

  assert.deepEqual([flow.state, flow.problem], ["signed_out", undefined]);
});

test("a sender who ends their packet sees where the rest of the money is, until the refund", async () => {
  const own = { ...RECORD, is_sender: true, refunded_fen: 0, claims: [], next: null };
  const closing = { ...own, status: "closing" };
  const { flow } = viewer({ "GET ": [own, own, closing, closing, { ...own, status: "closed", refunded_fen: 600 }] });
  await flow.load();
  await turns();
  assert.doesNotMatch(textOf(insideView(flow, undefined)), new RegExp(p("expired")));

  await flow.load();
  await turns();
  assert.match(textOf(insideView(flow, undefined)), new RegExp(p("closing_hint")));

  await flow.load();
  flow.end();
  assert.match(textOf(insideView(flow, undefined)), new RegExp(p("closed_hint", { amount: "6.00" })));
});

test("a sender sees the start time until their packet is open", async () => {
  const own = { ...RECORD, is_sender: true, claims: [], next: null, starts_at_ms: NOW_MS + 1 };
  const { flow, clock } = viewer({ "GET ": [own] });
  await flow.load();
  flow.end();
  assert.match(textOf(insideView(flow, undefined)), /Opens at/);

  clock.nowMs = NOW_MS + 1;

  assert.doesNotMatch(textOf(insideView(flow, undefined)), /Opens at/);
});

test("a sender with a share sees where the rest of the money is", async () => {
  const own = { ...RECORD, is_sender: true, refunded_fen: 0, claims: [], next: null, mine: CLAIM };
  const { flow } = viewer({ "GET ": [own, { ...own, status: "closed", refunded_fen: 600 }] });
  await flow.load();
  assert.doesNotMatch(textOf(insideView(flow, undefined)), new RegExp(p("closing_hint")));

  await turns();
  flow.end();

  assert.match(textOf(insideView(flow, undefined)), new RegExp(p("closed_hint", { amount: "6.00" })));
});

test("an unpaid packet has not ended, and a cancelled one returned no money", async () => {
  const own = { ...RECORD, is_sender: true, refunded_fen: 0, claims: [], next: null };
  const unpaid = viewer({ "GET ": [{ ...own, status: "unpaid" }] });
  await unpaid.flow.load();
  await turns();
  unpaid.flow.end();
  assert.equal(unpaid.flow.shownState, "watching");

  const cancelled = viewer({ "GET ": [{ ...own, status: "cancelled" }] });
  await cancelled.flow.load();
  cancelled.flow.end();
  const text = textOf(insideView(cancelled.flow, undefined));
  assert.match(text, new RegExp(p("cancelled")));
  assert.doesNotMatch(text, new RegExp(`${p("expired_hint")}|${p("closing_hint")}`));
});

test("a share that is settled a moment later is shown as settled", async () => {
  const queued = { ...CLAIM, payout: "queued" };
  const answers = { "GET ": [RECORD, { ...RECORD, mine: queued }, { ...RECORD, mine: CLAIM }], "POST /grab": [queued] };
  const { flow } = viewer(answers);
  await flow.load();
  await flow.take();
  await turns();
  flow.end();

  assert.equal(flow.claim?.payout, "settled");
});
