import assert from "node:assert/strict";
import test, { mock } from "node:test";

const HOUR_MS = 3_600_000;
/** The server's time at the start of a visit. */
const SERVER_MS = 1_800_000_000_000;

let ageMs = 0;
mock.method(performance, "now", () => ageMs);

/** Starts a visit from a device whose clock is *aheadMs* fast. */
async function visit(aheadMs: number) {
  ageMs = 0;
  mock.method(Date, "now", () => SERVER_MS + aheadMs + ageMs);
  const { now, noteTime } = (await import(`../src/now.ts?${Math.random()}`)) as typeof import("../src/now.ts");
  /** Simulates a request. The server answers after *thereMs*. The answer takes *backMs* to return, and is *oldMs* old. */
  const ask = (thereMs: number, backMs: number, headers: Record<string, string> = {}, oldMs = 0) => {
    const askedAtMs = ageMs;
    ageMs += thereMs;
    const told = { "X-Now-Ms": String(SERVER_MS + ageMs - oldMs), "Cache-Control": "no-store", ...headers };
    ageMs += backMs;
    noteTime(new Response(null, { headers: told }), askedAtMs);
  };
  return { now, ask, offMs: () => now() - SERVER_MS - ageMs };
}

test("the device's clock applies until the first answer", async () => {
  const { offMs } = await visit(2 * HOUR_MS);
  assert.equal(offMs(), 2 * HOUR_MS);
});

test("an answer corrects a clock that is hours off, to within half of the round trip", async () => {
  for (const aheadMs of [25 * HOUR_MS, 2 * HOUR_MS, -600_000]) {
    const { ask, offMs } = await visit(aheadMs);

    ask(100, 100);
    assert.equal(offMs(), 0);
    ask(10, 400);
    assert.ok(Math.abs(offMs()) <= 50, "a slow answer makes nothing worse");
    ask(900, 20);
    assert.ok(Math.abs(offMs()) <= 50);
  }
});

test("a cached answer bounds the clock by its age, and never sets the clock", async () => {
  const edge = { Age: "1", "Cache-Control": "public, max-age=1" };
  for (const [aheadMs, leastMs, mostMs] of [[2 * HOUR_MS, 0, 3000], [-600_000, -2000, 0], [500, 500, 500]] as const) {
    const { ask, offMs } = await visit(aheadMs);

    ask(10, 10, edge, 1500);
    assert.ok(leastMs <= offMs() && offMs() <= mostMs, String(offMs()));
    ask(10, 10);
    ask(1, 1, edge, 1500);
    assert.equal(offMs(), 0);
  }
});

test("an old cached answer never makes the clock worse", async () => {
  const closed = { Age: "3500", "Cache-Control": "public, max-age=3600" };
  for (const aheadMs of [60_000, 0, -60_000]) {
    const { ask, offMs } = await visit(aheadMs);
    ask(10, 10, closed, HOUR_MS);
    assert.equal(offMs(), aheadMs);
  }
});

test("the browser's cached copy of a private answer sets no clock back", async () => {
  const { ask, offMs } = await visit(0);
  ask(10, 10);
  ask(1, 1, { "Cache-Control": "private, no-cache" }, HOUR_MS);
  assert.equal(offMs(), 0);
});

test("the first answer after the device slept sets the clock again", async () => {
  const { now, ask } = await visit(0);
  ask(10, 10);
  const before = now();
  ask(10, 10, { "X-Now-Ms": String(SERVER_MS + HOUR_MS) });
  assert.ok(now() - before > HOUR_MS - 100);
});

test("a change of the device's clock during a visit changes nothing", async () => {
  const { ask, offMs } = await visit(0);
  ask(10, 10);
  mock.method(Date, "now", () => SERVER_MS + 5 * HOUR_MS);
  assert.equal(offMs(), 0);
});
