/** The mini-program of examples/ in a simulator of its component model, with a function as its API. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import test, { after, afterEach, beforeEach } from "node:test";

import type { Code } from "../src/api/problems.ts";
import { speaking } from "../src/i18n/language.ts";
import { problemText } from "../src/i18n/packet.ts";
import "../src/i18n/problems.ts";
import { stateAfter } from "../src/packet/states.ts";
import { close, leave, render as renderWith, require, restart, ROOT, until, type Shown, type WxRequest } from "./miniprogram.ts";

type Answer = [status: number, data: object] | undefined;

const contract = JSON.parse(readFileSync("../openapi.json", "utf8")) as { paths: Record<string, object> };
const routes = Object.entries(contract.paths).flatMap(([path, methods]) =>
  Object.keys(methods).map((method) => new RegExp(`^${method} ${path.replace(/\{\w+\}/g, "[^/]+")}$`, "i")),
);

const PACKET = {
  packet_id: "p1",
  sender: { nickname: "妈妈" },
  greeting: "平安喜乐",
  kind: "lucky",
  status: "open",
  is_sender: false,
  is_exclusive: false,
  needs_passphrase: false,
  cover_url: null,
  starts_at_ms: 0,
  expires_at_ms: 1_800_000_000_000,
  count: 2,
  claimed_count: 1,
  remaining_count: 1,
  claimed_fen: 300,
  total_fen: 1000,
  claims: [{ share_no: 1, nickname: "小李", amount_fen: 300, is_luckiest: false }],
  mine: null,
};
const CLAIM = { outcome: "claimed", packet_id: "p1", share_no: 2, amount_fen: 708, payout: "queued" };

let requests: WxRequest[] = [];
let answers: Record<string, (request: WxRequest) => Answer> = {};
let stored: Record<string, unknown> = {};
let called: [string, unknown][] = [];
/** Headers of each answer. */
let told: Record<string, string> = {};

/** Fake of the part of WeChat's API that the mini-program uses. */
const wx = {
  request(request: WxRequest) {
    const path = request.url.replace("https://packets.example/api", "");
    const route = `${request.method} ${path}`;
    assert.ok(routes.some((pattern) => pattern.test(route)), `no such route: ${route}`);
    requests.push(request);
    const answer = answers[route]?.(request);
    setTimeout(() => {
      if (answer) request.success({ statusCode: answer[0], data: answer[1], header: told });
      else request.fail();
    });
  },
  login: ({ success }: { success: (answer: { code: string }) => void }) => success({ code: `code-${called.push(["login", 0])}` }),
  getRandomValues: () => Promise.resolve({ randomValues: crypto.getRandomValues(new Uint8Array(16)).buffer }),
  requestPayment(options: { success: () => void }) {
    called.push(["requestPayment", options]);
    options.success();
  },
  getStorageSync: (key: string) => stored[key],
  setStorageSync: (key: string, value: unknown) => (stored[key] = value),
  removeStorageSync: (key: string) => Reflect.deleteProperty(stored, key),
  vibrateShort: () => undefined,
  redirectTo: (options: unknown) => called.push(["redirectTo", options]),
};

const render = (path: string, properties?: object): Shown => renderWith(wx, path, properties);

const sentTo = (route: string) =>
  requests.filter(({ method, url }) => `${method} ${url.split("/api")[1]}` === route);

beforeEach(() => {
  requests = [];
  stored = {};
  called = [];
  told = {};
  restart();
  answers = {
    "POST /auth/wechat": () => [200, { token: `token-${sentTo("POST /auth/wechat").length}` }],
    "GET /me": () => [200, { user_token: "me" }],
    "GET /packets/p1": () => [200, PACKET],
    // Also answer polls, which would otherwise be repeated for a minute after the test.
    "GET /packets/p1?limit=20": () => [200, PACKET],
  };
});

afterEach(leave);
after(close);

test("an id from a crafted link stays within its packet's path", async () => {
  render("components/red-packet/index", { packetId: "../me?x" });

  await until(() => requests.some(({ method }) => method === "GET"), "the request");

  assert.deepEqual(sentTo("GET /packets/..%2Fme%3Fx").length, 1);
});

test("one tap opens a packet, and a request with a lost answer is retried", async () => {
  const mine = { ...CLAIM, payout: "settled" };
  let grabs = 0;
  answers["POST /packets/p1/grab"] = () => {
    grabs += 1;
    if (grabs === 1) return [503, { code: "unavailable" }];
    const claims = [...PACKET.claims, { share_no: 2, nickname: "我", amount_fen: 708, is_luckiest: true }];
    answers["GET /packets/p1?limit=20"] = () => [
      200,
      { ...PACKET, status: "emptied", mine, claims, claimed_count: 2, claimed_fen: 1008, remaining_count: 0 },
    ];
    return [200, CLAIM];
  };
  const packet = render("components/red-packet/index", { packetId: "p1", via: "friend" });
  const claimed: unknown[] = [];
  packet.addEventListener("claimed", ({ detail }) => claimed.push(detail));
  await until(() => packet.data.state === "ready", "a cover");
  assert.match(packet.dom.textContent, /妈妈的红包.*平安喜乐.*開.*拼手气红包/);

  packet.querySelector(".coin")!.dispatchEvent("tap");
  packet.querySelector(".coin")!.dispatchEvent("tap");
  await until(() => (packet.data.claims as unknown[]).length === 2, "the list");

  assert.match(packet.dom.textContent, /7\.08 元.*已领取 2\/2 个 · 共 10\.08\/10\.00 元.*手气最佳/);
  assert.equal(grabs, 2);
  assert.deepEqual(sentTo("POST /packets/p1/grab")[0]!.data, { via: "friend" });
  assert.deepEqual(claimed, [CLAIM]);
});

test("the API's clock, not the phone's, decides when a packet starts", async () => {
  const startsAtMs = 1_700_000_000_000;
  answers["GET /packets/p1"] = () => [200, { ...PACKET, starts_at_ms: startsAtMs }];
  for (const [nowMs, state] of [[startsAtMs - 60_000, "waiting"], [startsAtMs + 1000, "ready"]] as const) {
    told = { "X-Now-Ms": String(nowMs), "cache-control": "no-store" };
    const packet = render("components/red-packet/index", { packetId: "p1" });
    await until(() => packet.data.state !== "loading", "a cover");
    assert.equal(packet.data.state, state);
    leave();
  }

  const { now } = require(join(ROOT, "api.js")) as { now: () => number };
  const before = now();
  told = { "X-Now-Ms": "1", "cache-control": "public, max-age=1" };
  answers["GET /campaigns/spring"] = () => [200, { title: "", state: "ended", packets: [] }];
  await render("pages/rain/index").instance.onLoad!({ campaign: "spring" });
  assert.ok(Math.abs(now() - before) < 60_000, "an answer of a cache is no clock");
});

test("each refusal has the page's words and state", () => {
  const refusals = require(join(ROOT, "refusals.js")) as Record<string, { text: string; state?: string }>;

  for (const [code, { text, state }] of Object.entries(refusals)) {
    assert.equal(text, speaking("zh-CN", () => problemText(code)), "run `npm run api`");
    assert.equal(state, stateAfter(code as Code), "run `npm run api`");
  }
});

test("each refusal shows its words and leads to its state", async () => {
  for (const [code, state, words] of [
    ["packet_emptied", "over", /红包派完了/],
    ["not_invited", "refused", /不是给你的/],
    ["rate_limited", "ready", /操作太快/],
  ] as const) {
    answers["POST /packets/p1/grab"] = () => [409, { code }];
    const packet = render("components/red-packet/index", { packetId: "p1" });
    await until(() => packet.data.state === "ready", "a cover");
    packet.querySelector(".coin")!.dispatchEvent("tap");
    await until(() => words.test(packet.dom.textContent), code);
    assert.equal(packet.data.state, state);
  }
});

test("concurrent requests share one sign-in and one renewal of an expired token", async () => {
  const { ask } = require(join(ROOT, "api.js")) as { ask: (method: string, path: string) => Promise<object> };
  Object.assign(globalThis, { wx });
  answers["GET /me"] = ({ header }) =>
    header.authorization === "Bearer token-1" && sentTo("GET /me").length > 2
      ? [401, { message: "Unauthorized" }]
      : [200, { user_token: "me" }];

  await Promise.all([ask("GET", "/me"), ask("GET", "/me")]);
  assert.equal(sentTo("POST /auth/wechat").length, 1);
  await Promise.all([ask("GET", "/me"), ask("GET", "/me")]);

  assert.deepEqual(sentTo("POST /auth/wechat").map(({ data }) => data), [{ code: "code-1" }, { code: "code-2" }]);
});

test("a card shows the sender's greeting, credits the sharer, and never describes an exclusive packet", async () => {
  const page = render("pages/packet/index");
  page.instance.onLoad!({ id: "p1" });
  await until(() => sentTo("GET /packets/p1").length > 0 && sentTo("GET /me").length > 0, "the packet");
  await until(() => page.dom.textContent.includes("平安喜乐"), "the cover");
  const path = "/pages/packet/index?id=p1&via=me";
  assert.deepEqual(page.instance.onShareAppMessage!(), { title: "平安喜乐", path });

  page.instance.know!({ detail: { is_exclusive: true, greeting: "给你的" } });

  assert.deepEqual(page.instance.onShareAppMessage!(), { title: "你收到一个红包", path });
});

test("WeChat pays for a send, and a repeat after a lost answer sends no second packet", async () => {
  const prompt = { appId: "a", timeStamp: "1", nonceStr: "n", package: "prepay_id=1", signType: "RSA", paySign: "s" };
  answers["POST /packets"] = () => [409, { code: "insufficient_funds" }];
  answers["GET /me/payments/pay1"] = () => [200, { status: sentTo("GET /me/payments/pay1").length > 1 ? "paid" : "pending" }];
  const page = render("pages/send/index");
  for (const [name, value] of [["total", "88.8"], ["count", "10"]] as const) {
    page.instance.type!({ currentTarget: { dataset: { name } }, detail: { value } });
  }

  await page.instance.send!();
  assert.match(page.dom.textContent, /余额不足/);
  answers["POST /packets"] = () => [201, { packet_id: "p1", payment_id: "pay1", wechat: prompt }];
  await page.instance.send!();

  const [first, second] = sentTo("POST /packets");
  assert.deepEqual(first!.data, { kind: "lucky", total_fen: 8880, count: 10, pay_with: "wechat", pay_method: "jsapi" });
  assert.match(first!.header["idempotency-key"]!, /^[0-9a-f]{32}$/);
  assert.deepEqual(second!.header["idempotency-key"], first!.header["idempotency-key"]);
  const [, options] = called.find(([name]) => name === "requestPayment")!;
  const { success, ...paid } = options as Record<string, unknown>;
  const { appId, ...signed } = prompt;
  assert.deepEqual([{ ...paid, fail: undefined }, typeof success, appId], [{ ...signed, fail: undefined }, "function", "a"]);
  assert.deepEqual(called.at(-1), ["redirectTo", { url: "/pages/packet/index?id=p1" }]);
  assert.deepEqual(stored, {});
});

test("without a storage, a repeat of a send keeps its key", async () => {
  const refuse = () => {
    throw new Error("setStorage:fail exceed storage max size");
  };
  const full = { ...wx, getStorageSync: refuse, setStorageSync: refuse, removeStorageSync: refuse };
  const page = renderWith(full, "pages/send/index");
  for (const [name, value] of [["total", "5"], ["count", "1"]] as const) {
    page.instance.type!({ currentTarget: { dataset: { name } }, detail: { value } });
  }
  answers["POST /packets"] = () => [409, { code: "insufficient_funds" }];

  await page.instance.send!();
  await page.instance.send!();

  const [first, second] = sentTo("POST /packets");
  assert.deepEqual(second!.header["idempotency-key"], first!.header["idempotency-key"]);
});

test("a rain grabs each hit packet once, and adds up the amounts", async () => {
  const packets = ["a", "b", "c"].map((packet_id) => ({ packet_id, count: 9 }));
  answers["GET /campaigns/spring"] = () => [200, { title: "开工红包雨", state: "on", starts_at_ms: 0, packets }];
  answers["POST /packets/a/grab"] = () => [200, { ...CLAIM, amount_fen: 120 }];
  answers["POST /packets/b/grab"] = () => [409, { code: "packet_emptied" }];
  answers["POST /packets/c/grab"] = () => [200, { ...CLAIM, outcome: "already_claimed", amount_fen: 55 }];
  const page = render("pages/rain/index");

  await page.instance.onLoad!({ campaign: "spring" });
  await until(() => page.querySelectorAll(".drop").length === 3, "drops");
  for (const drop of page.querySelectorAll(".drop")) {
    drop.dispatchEvent("tap");
    drop.dispatchEvent("tap");
  }
  await until(() => page.data.isOver === true, "the end");

  assert.match(page.dom.textContent, /开工红包雨.*抢到 1\.20 元.*红包雨结束了/);
  assert.equal(requests.filter(({ url }) => url.endsWith("/grab")).length, 3);
  assert.deepEqual(page.instance.onShareAppMessage!(), {
    title: "开工红包雨",
    path: "/pages/rain/index?campaign=spring",
  });
});

test("amounts follow the page's grammar", () => {
  const { digits, fenOf } = require(join(ROOT, "api.js")) as Record<string, (given: never) => unknown>;
  const cases = JSON.parse(readFileSync("../tests/vectors/amounts.json", "utf8")) as { text: string; fen: number | null }[];

  for (const { text, fen } of cases) assert.equal(fenOf!(text as never), fen ?? 0, JSON.stringify(text));
  assert.equal(digits!(8880 as never), "88.80");
});

test("the sender sees the amount to be sent, or why it can't be parsed", async () => {
  const page = render("pages/send/index");
  const type = (value: string) => page.instance.type!({ currentTarget: { dataset: { name: "total" } }, detail: { value } });

  type("1,50");
  await until(() => page.dom.textContent.includes("微信支付 1.50 元"), "the amount");
  type("1.005");
  await page.instance.send!();

  assert.match(page.dom.textContent, /用微信支付，塞钱.*读不出“1.005”/);
  assert.equal(sentTo("POST /packets").length, 0);
});
