import assert from "node:assert/strict";
import test from "node:test";

import { Poll, type PollOptions } from "../src/poll.ts";

/** Fakes a page that can be hidden, and a clock that the test controls. */
function scene(context: test.TestContext, options: Partial<PollOptions> = {}) {
  let onVisible: () => void = () => undefined;
  const page = {
    hidden: false,
    addEventListener: (_: string, listener: () => void) => (onVisible = listener),
    removeEventListener: () => (onVisible = () => undefined),
  };
  Object.assign(globalThis, { document: page });
  context.mock.timers.enable({ apis: ["setTimeout"] });
  const calls = { count: 0, atOnce: 0, atOnceMax: 0 };
  const ask = async () => {
    calls.count++;
    calls.atOnceMax = Math.max(calls.atOnceMax, ++calls.atOnce);
    await new Promise((done) => setTimeout(done, 500));
    calls.atOnce--;
    return 1000;
  };
  const poll = new Poll({ ask, failed: () => 1000, ...options });
  context.after(() => poll.stop());
  return { poll, calls, page, show: () => onVisible() };
}

async function pass(context: test.TestContext, ms: number): Promise<void> {
  for (let passed = 0; passed < ms; passed += 100) {
    for (let turn = 0; turn < 8; turn++) await Promise.resolve();
    context.mock.timers.tick(100);
  }
}

test("a tab that is hidden and shown during a call keeps one loop", async (context) => {
  const { poll, calls, show } = scene(context);
  poll.start();

  for (let blink = 0; blink < 5; blink++) show();
  await pass(context, 30_000);

  assert.equal(calls.atOnceMax, 1);
  assert.ok(calls.count >= 19 && calls.count <= 21, String(calls.count));
});

test("a hidden page makes no calls, and continues when it is visible", async (context) => {
  const { poll, calls, page, show } = scene(context);
  poll.start();
  page.hidden = true;
  await pass(context, 30_000);
  assert.equal(calls.count, 1);

  page.hidden = false;
  show();
  await pass(context, 2_500);

  assert.equal(calls.count, 3);
});

test("a failed call is followed by another one, and undefined ends the loop", async (context) => {
  const delays = [1000, undefined];
  let count = 0;
  const ask = () => Promise.reject(new Error(String(count++)));
  const { poll } = scene(context, { ask, failed: () => delays[count - 1] });

  poll.start();
  await pass(context, 10_000);
  assert.equal(count, 2);

  poll.start();
  await pass(context, 10_000);
  assert.equal(count, 3, "it can be started again");
});

test("a loop that is stopped during a call stays stopped", async (context) => {
  const { poll, calls } = scene(context);
  poll.start();
  poll.stop();

  await pass(context, 10_000);

  assert.equal(calls.count, 1);
});

test("starting a waiting loop makes a call at once", async (context) => {
  const { poll, calls } = scene(context, { failed: () => undefined });
  poll.start();
  await pass(context, 600);
  assert.equal(calls.count, 1);

  poll.start();
  poll.start(400);
  assert.equal(calls.count, 2);
  await pass(context, 1400);
  assert.equal(calls.count, 2, "one loop goes on");
});
