import assert from "node:assert/strict";
import test from "node:test";

import { Client, type AnswerOf, type Schemas } from "../src/api/client.ts";
import { PendingWrites } from "../src/api/keys.ts";
import { Problem } from "../src/api/problems.ts";

interface Scene {
  client: Client;
  requests: { url: string; init: RequestInit }[];
  waitsMs: number[];
}

function scene(...answers: (Response | Error)[]): Scene {
  const requests: Scene["requests"] = [];
  const waitsMs: number[] = [];
  const client = new Client({
    base: "/api",
    token: () => "old",
    renew: () => Promise.resolve("new"),
    random: () => 0.5,
    sleep: (ms) => {
      waitsMs.push(ms);
      return Promise.resolve();
    },
    fetch: (url, init) => {
      requests.push({ url: url as string, init: init ?? {} });
      const answer = answers[requests.length - 1] ?? answers.at(-1)!;
      return answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer.clone());
    },
  });
  return { client, requests, waitsMs };
}

const ok = Response.json({ done: true });
const problem = (status: number, code: string, headers = {}) =>
  Response.json({ code }, { status, headers });
const header = (init: RequestInit, name: string) => new Headers(init.headers).get(name);

test("after a 503, the client waits for Retry-After with jitter and repeats the same key and body", async () => {
  const { client, requests, waitsMs } = scene(problem(503, "unavailable", { "Retry-After": "2" }), ok);

  await client.ask("POST", "/packets", { body: { a: 1 }, key: "k", repeats: 1 });

  assert.deepEqual(waitsMs, [2250]);
  assert.deepEqual(requests[0], { ...requests[1], init: { ...requests[1]!.init, signal: requests[0]!.init.signal } });
  assert.equal(header(requests[1]!.init, "Idempotency-Key"), "k");
});

test("a refusal names the rejected fields", async () => {
  const errors = [{ field: "greeting", message: "contains the invisible character U+202E (RIGHT-TO-LEFT OVERRIDE)" }];
  const { client } = scene(Response.json({ code: "invalid_request", errors }, { status: 422 }));

  await assert.rejects(client.ask("POST", "/packets"), { code: "invalid_request", errors });
});

test("the client retries a lost connection, but not a refusal", async () => {
  const lost = scene(new TypeError("Failed to fetch"), ok);
  assert.deepEqual(await lost.client.ask("POST", "/x", { repeats: 1 }), { done: true });

  const refused = scene(problem(410, "packet_emptied"), ok);
  await assert.rejects(refused.client.ask("POST", "/x", { repeats: 5 }), { code: "packet_emptied" });
  assert.equal(refused.requests.length, 1);
});

test("the client does not retry a draw before the campaign's start", async () => {
  const start = scene(problem(409, "campaign_not_started"), ok);
  await assert.rejects(start.client.ask("POST", "/draws", { key: "k", repeats: 1 }), { status: 409 });
});

test("429 and a switched-off feature report their wait and are not retried", async () => {
  for (const [status, code] of [[429, "rate_limited"], [503, "switched_off"]] as const) {
    const { client, requests } = scene(problem(status, code, { "Retry-After": "7" }));
    await assert.rejects(client.ask("POST", "/x", { repeats: 5 }), { code, retryAfterS: 7 });
    assert.equal(requests.length, 1);
  }
});

test("retries end, and the caller gets the problem", async () => {
  const { client, requests } = scene(problem(503, "unavailable", { "Retry-After": "1" }));
  await assert.rejects(client.ask("GET", "/x", { repeats: 3 }), Problem);
  assert.equal(requests.length, 4);
});

test("the client renews a rejected token once", async () => {
  const { client, requests } = scene(new Response("{}", { status: 401 }), ok);
  await client.ask("GET", "/me");
  assert.deepEqual(requests.map(({ init }) => header(init, "Authorization")), ["Bearer old", "Bearer new"]);
});

test("responses from the gateway itself also have a code", async () => {
  const gateway = (status: number) => new Response('{"message": "no"}', { status });
  for (const [status, code] of [[403, "forbidden"], [429, "rate_limited"], [502, "unavailable"]] as const) {
    await assert.rejects(scene(gateway(status)).client.ask("GET", "/x"), { code });
  }
});

class MemoryStore {
  readonly kept = new Map<string, string>();
  getItem = (key: string) => this.kept.get(key) ?? null;
  setItem = (key: string, value: string) => void this.kept.set(key, value);
  removeItem = (key: string) => void this.kept.delete(key);
}

test("a pending write keeps its key after a reload, but only for its user and body", () => {
  const store = new MemoryStore();
  const first = new PendingWrites(store).begin("send", "ann", { total_fen: 1 });

  const reloaded = new PendingWrites(store);

  assert.deepEqual(reloaded.find("send", "ann"), first);
  assert.equal(reloaded.find("send", "bob"), undefined);
  assert.equal(reloaded.begin("send", "ann", { total_fen: 1 }).key, first.key);
  assert.notEqual(reloaded.begin("send", "ann", { total_fen: 2 }).key, first.key);
  reloaded.end("send");
  assert.equal(reloaded.find("send", "ann"), undefined);
});

test("the path determines the type of the answer", () => {
  type Same<One, Other> = [One, Other] extends [Other, One] ? true : false;
  const cases: [
    Same<AnswerOf<"/me">, Schemas["Me"]>,
    Same<AnswerOf<`/packets/${string}`>, Schemas["Record"]>,
    Same<AnswerOf<`/packets/${string}/feed?limit=1&cursor=${string}`>, Schemas["Feed"]>,
    Same<AnswerOf<`/packets/${string}`>, Schemas["Feed"]>,
    Same<AnswerOf<"/packets">, unknown>,
    Same<AnswerOf<"/mee">, unknown>,
  ] = [true, true, true, false, true, true];

  assert.equal(cases.length, 6);
});

test("the first caller gets the prefetched answer or problem", async () => {
  const { client, requests } = scene(ok);
  client.prefetch("/packets/a");
  assert.deepEqual(await client.get("/packets/a"), { done: true });
  assert.equal(requests.length, 1);
  await client.get("/packets/a");
  assert.equal(requests.length, 2);

  const refused = scene(problem(404, "packet_not_found"));
  refused.client.prefetch("/packets/a");
  await assert.rejects(refused.client.get("/packets/a"), { code: "packet_not_found" });
  assert.equal(refused.requests.length, 1);
});
