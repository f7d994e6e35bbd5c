import assert from "node:assert/strict";
import test from "node:test";

import type { Client } from "../src/api/client.ts";
import { Problem } from "../src/api/problems.ts";
import { Live } from "../src/packet/live.ts";

const OPEN = { status: "open", claims: [], next: null };
/** Feed of a packet whose equal shares have no luckiest user. */
const EMPTIED = { status: "emptied", claims: [{ is_luckiest: false }], next: null };

/** Advances the clock by *count* minutes, and lets pending work run before each second. */
async function minutes(context: test.TestContext, count: number): Promise<void> {
  for (let second = 0; second < 60 * count; second++) {
    for (let turn = 0; turn < 5; turn++) await Promise.resolve();
    context.mock.timers.tick(1000);
  }
}

/** Follows a packet. Its feed returns *answers* in order, and then repeats the last one. */
function followed(context: test.TestContext, ...answers: object[]) {
  const page = { hidden: false, addEventListener: () => undefined, removeEventListener: () => undefined };
  Object.assign(globalThis, { document: page });
  context.mock.timers.enable({ apis: ["setTimeout"] });
  const requests: string[] = [];
  const get = (path: string) => {
    requests.push(path);
    const answer = answers[requests.length - 1] ?? answers.at(-1);
    return answer instanceof Problem ? Promise.reject(answer) : Promise.resolve(answer);
  };
  const live = new Live({ get } as unknown as Client, "p", () => undefined);
  context.after(() => live.stop());
  live.start();
  return { requests, page, live };
}

test("polls of an emptied packet stop after nothing has changed for a while", async (context) => {
  const { requests } = followed(context, OPEN, OPEN, EMPTIED);

  await minutes(context, 2);
  const count = requests.length;
  await minutes(context, 30);

  assert.ok(count > 4, "names may still come");
  assert.equal(requests.length, count);
});

test("polls of an open packet slow down, but continue while the page is visible", async (context) => {
  const { requests, page } = followed(context, OPEN);

  await minutes(context, 10);
  const count = requests.length;
  page.hidden = true;
  await minutes(context, 10);

  assert.ok(count > 50 && count < 100, `${count}`);
  assert.ok(requests.length <= count + 1);
});

test("a closed packet is read once", async (context) => {
  const { requests } = followed(context, { ...EMPTIED, status: "closed" });

  await minutes(context, 10);

  assert.equal(requests.length, 1);
});

test("a missing feed rejects nothing, and is polled slowly", async (context) => {
  const { requests } = followed(context, new Problem("packet_not_found"), OPEN);

  await minutes(context, 1 / 12);
  const soon = requests.length;
  await minutes(context, 1 / 4);

  assert.equal(soon, 1);
  assert.ok(requests.length > soon);
});

test("a page that fails to load rejects nothing, and can be requested again", async (context) => {
  const { live } = followed(context, { ...OPEN, next: "2" }, new Problem("offline"), { ...OPEN, claims: [{}] });
  for (let turn = 0; turn < 5; turn++) await Promise.resolve();

  await live.askMore();
  assert.deepEqual([live.hasMore, live.claims.length], [true, 0]);
  await live.askMore();

  assert.deepEqual([live.hasMore, live.claims.length], [false, 1]);
});
