import assert from "node:assert/strict";
import test from "node:test";

import {
  atMs,
  emptyPlan,
  emptyPrize,
  localText,
  missPercent,
  mistakes,
  percentIn,
  planOf,
  stateOf,
  stepsTo,
  type Campaign,
  type PlanForm,
  type Prize,
} from "../src/operator/plan.ts";
import { readUsers } from "../src/operator/users-file.ts";

const HOUR_MS = 3_600_000;
const NOW_MS = Date.UTC(2027, 0, 29, 12);

const PRIZE: Prize = {
  ...{ prize_id: "tea", title: "Tea", kind: "goods", amount_fen: null, image_url: null, description: "", attributes: {} },
  ...{ once_per_user: false, status: "on", is_sold_out: false, weight: 1, total: 10, per_day: 0, per_hour: 7 },
  ...{ issued: 2, issued_today: null, version: 4 },
};
const CAMPAIGN = {
  ...{ campaign_id: "spring", title: "Spring", description: "", starts_at_ms: NOW_MS, ends_at_ms: NOW_MS + HOUR_MS },
  ...{ timezone: "Asia/Shanghai", miss_weight: 2, when_sold_out: "miss", quota_per_user: 1, amounts_shown: "live" },
  rules: {
    ...{ attempts_per_user_per_day: 3, wins_per_user_per_day: 0, guaranteed_after_misses: 9 },
    ...{ helps_per_user_per_day: 3, helps_given_per_user_per_day: 5 },
  },
  ...{ status: "on", passphrase: null, budget_fen: 5_000, budget_left_fen: 5_000, version: 7, required_claims: {} },
  prizes: [PRIZE],
} as unknown as Campaign;

function form(changes: Partial<PlanForm> = {}): PlanForm {
  const prize = { ...emptyPrize("tea"), title: "Tea", percent: "12.5", total: "10" };
  return { ...emptyPlan(NOW_MS, "Asia/Shanghai", "spring"), title: "Spring", prizes: [prize], ...changes };
}

test("times are in the campaign's zone, before and after a clock change", () => {
  assert.equal(localText(NOW_MS, "Asia/Shanghai"), "2027-01-29T20:00");
  for (const [text, zone, iso] of [
    ["2027-01-29T20:00", "Asia/Shanghai", "2027-01-29T12:00:00.000Z"],
    ["2027-03-14T01:30", "America/New_York", "2027-03-14T06:30:00.000Z"],
    ["2027-03-14T03:30", "America/New_York", "2027-03-14T07:30:00.000Z"],
    ["2027-11-07T03:30", "America/New_York", "2027-11-07T08:30:00.000Z"],
  ] as const) {
    assert.equal(new Date(atMs(text, zone)!).toISOString(), iso);
    assert.equal(localText(atMs(text, zone)!, zone), text);
  }
  assert.equal(atMs("", "Asia/Shanghai"), undefined);
  assert.equal(atMs("2027-01-29T20:00", "Mars/Base"), undefined);
});

test("a new campaign is a draft until its prizes exist, and then gets the requested status", () => {
  const steps = stepsTo(undefined, form({ budget: "1,000.00" }), "on", true);

  assert.deepEqual(
    steps.map(({ method, path, body }) => [method, path, body.status, body.weight ?? body.miss_weight]),
    [
      ["PUT", "/admin/campaigns/spring", "off", 87_500],
      ["PUT", "/admin/campaigns/spring/prizes/tea", "on", 12_500],
      ["PUT", "/admin/campaigns/spring", "on", 87_500],
    ],
  );
  assert.ok(!("budget_fen" in steps[0]!.body));
  assert.equal(steps[2]!.body.budget_fen, 100_000);
  // For an operator who may not set budgets, no budget is sent.
  assert.ok(!("budget_fen" in stepsTo(undefined, form({ budget: "5" }), "on", false).at(-1)!.body));
});

test("unchanged fields are not written, and fields outside the form stay", () => {
  assert.deepEqual(stepsTo(CAMPAIGN, planOf(CAMPAIGN), "on", true), []);

  const steps = stepsTo(CAMPAIGN, { ...planOf(CAMPAIGN), title: "Summer" }, "on", true);

  assert.equal(steps.length, 1);
  const { body } = steps[0]!;
  assert.deepEqual([body.title, body.when_sold_out, body.amounts_shown, body.miss_weight], ["Summer", "miss", "live", 2]);
  assert.equal((body.rules as Record<string, number>).guaranteed_after_misses, 9);
});

test("a running campaign pauses while the chances of its prizes change", () => {
  const plan = planOf(CAMPAIGN);
  assert.equal(plan.prizes[0]!.percent, "33.333");
  const prizes = [{ ...plan.prizes[0]!, percent: "40", total: "15" }];

  const steps = stepsTo(CAMPAIGN, { ...plan, prizes }, "on", true);

  assert.deepEqual(
    steps.map(({ path, body }) => [path.split("/").at(-1), body.status ?? body.delta, body.weight ?? body.miss_weight]),
    [
      ["spring", "off", 2],
      ["tea", "on", 40_000],
      ["stock", 5, undefined],
      ["spring", "on", 60_000],
    ],
  );
  // Only a separate write changes a prize's stock.
  assert.deepEqual([steps[1]!.body.total, steps[1]!.body.per_hour], [10, 7]);
});

test("a percentage has a decimal point or comma, and nothing else", () => {
  for (const text of ["2.5", "2,5", " ２，５ ", "02.50"]) assert.equal(percentIn(text), 2.5, text);
  for (const text of ["", ".", "2,5,0", "1e1", "-1", "0x10", "%"]) assert.ok(Number.isNaN(percentIn(text)), text);
  const prizes = [{ ...emptyPrize("x"), title: "x", total: "1", percent: "2,5" }];
  assert.deepEqual(mistakes(form({ prizes }), true), {});
  assert.equal(missPercent(prizes), 97.5);
});

test("errors appear at their fields", () => {
  assert.deepEqual(mistakes(form(), true), {});
  const prize = { ...emptyPrize("x"), kind: "packet" as const, percent: "90", total: "1.5", image_url: "http://x" };
  const bad = form({ id: "a b", title: " ", ends: "2027-01-01T00:00", quota: "-1", prizes: [...form().prizes, prize] });
  assert.deepEqual(Object.keys(mistakes(bad, true)).sort(), [
    ...["ends", "id", "prizes.1.amount", "prizes.1.image_url", "prizes.1.percent", "prizes.1.title"],
    ...["prizes.1.total", "quota", "title"],
  ]);
  for (const id of ["Spring", "x".repeat(64)]) assert.equal(mistakes(form({ id }), true).id, "bad_id");
  assert.equal(missPercent(bad.prizes), -2.5);
  assert.equal(mistakes(form({ budget: "1.005" }), true).budget, "unread_amount");
});

test("a campaign's state is what users see", () => {
  const at = (nowMs: number, status: "on" | "off" = "on") => stateOf({ ...CAMPAIGN, status }, nowMs);
  assert.deepEqual(
    [at(NOW_MS - 1), at(NOW_MS - 1, "off"), at(NOW_MS), at(NOW_MS, "off"), at(NOW_MS + HOUR_MS, "off")],
    ["upcoming", "draft", "running", "paused", "ended"],
  );
});

test("users come from the first column of a file, once each, and invalid lines are reported", () => {
  const file = readUsers('\uFEFFuser,name\r\nann,Ann\r\n"bob";x\n\nann\n王伟\n-eve\n');
  assert.deepEqual(file.users, ["ann", "bob"]);
  assert.deepEqual(file.bad, [{ line: 6, text: "王伟" }, { line: 7, text: "-eve" }]);
});
