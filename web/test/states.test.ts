import assert from "node:assert/strict";
import test from "node:test";

import type { Schemas } from "../src/api/client.ts";
import { stateOf } from "../src/packet/states.ts";

const packet = {
  status: "open",
  remaining_count: 3,
  starts_at_ms: 10_000,
  expires_at_ms: 90_000,
  mine: null,
  sender: { nickname: "Ann" },
} as Schemas["Record"];

test("a packet waits for its start", () => {
  assert.deepEqual([9_999, 10_000].map((now) => stateOf(packet, now)), ["waiting", "ready"]);
});

test("a packet that the API reports as open is not over, even if the clock says so", () => {
  assert.equal(stateOf(packet, 90_000_000), "ready");
});

test("a packet is over once the API's own time has reached its end", () => {
  assert.deepEqual([89_999, 90_000].map((least) => stateOf(packet, 90_000, least)), ["ready", "expired"]);
});
