import assert from "node:assert/strict";
import test from "node:test";

import type { Schemas } from "../src/api/client.ts";
import { coverOf, stateOf } from "../src/packet/states.ts";

const packet = {
  status: "open",
  remaining_count: 3,
  starts_at_ms: 10_000,
  expires_at_ms: 90_000,
  beacon_at_ms: null as number | null,
  mine: null,
  sender: { nickname: "Ann" },
} as Schemas["Record"];

test("a packet waits for its start, and for its round", () => {
  const byRound = { ...packet, beacon_at_ms: 21_000 };
  assert.deepEqual([9_999, 10_000].map((now) => stateOf(packet, now)), ["waiting", "ready"]);
  assert.deepEqual([10_000, 22_999, 23_000].map((now) => stateOf(byRound, now)), [
    "waiting",
    "waiting",
    "ready",
  ]);
  assert.equal(coverOf(byRound).starts_at_ms, 23_000);
});
