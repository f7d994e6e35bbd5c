import assert from "node:assert/strict";
import test from "node:test";

Object.assign(globalThis, {
  location: { origin: "https://page.example", href: "https://page.example/packets/1", pathname: "/packets/1" },
  scrollY: 0,
  addEventListener: () => undefined,
  document: { addEventListener: () => undefined },
  sessionStorage: { getItem: () => null },
  localStorage: { getItem: () => null },
});
Object.defineProperty(globalThis, "navigator", { value: { languages: ["zh-CN"], language: "zh-CN", userAgent: "" } });
const { cardOf } = await import("../src/providers/wechat/share.ts");
const { pay } = await import("../src/providers/wechat/pay.ts");
const { methodOf } = await import("../src/providers/registry.ts");
const { bodyOf, EMPTY } = await import("../src/views/draft.ts");
const link = "https://page.example/packets/1";
const cover = { is_exclusive: false, greeting: "平安喜乐", nickname: "妈妈", cover_url: "https://covers.example/1.png" };

test("a card has greeting, sender and cover, and no amount", () => {
  assert.deepEqual(cardOf(cover, link), {
    title: "平安喜乐",
    desc: "妈妈发来一个红包，快来领取",
    link,
    imgUrl: "https://covers.example/1.png",
  });
  assert.equal(cardOf({ ...cover, greeting: "", cover_url: null }, link).imgUrl, "https://page.example/share.png");
});

test("an exclusive packet's card reveals nothing about the packet", () => {
  const card = JSON.stringify(cardOf({ ...cover, is_exclusive: true }, link));

  for (const secret of ["平安喜乐", "妈妈", "covers.example"]) assert.ok(!card.includes(secret));
});

test("the page asks WeChat's bridge for a payment, even if the bridge loads late", async () => {
  const requests: unknown[] = [];
  const WeixinJSBridge = {
    invoke: (name: string, options: object, done: () => void) => {
      requests.push([name, options]);
      done();
    },
  };
  const prompt = { appId: "wx1", package: "prepay_id=1" };
  const listeners: (() => void)[] = [];
  Object.assign(document, { addEventListener: (_: string, listener: () => void) => listeners.push(listener) });

  const paying = pay(prompt);
  Object.assign(globalThis, { WeixinJSBridge });
  for (const listener of listeners) listener();
  await paying;
  await pay(prompt);

  const call = ["getBrandWCPayRequest", prompt];
  assert.deepEqual([requests, listeners.length], [[call, call], 1]);
});

test("a phone pays inside WeChat, and shows a code elsewhere", () => {
  const draft = { ...EMPTY, amount: "1", count: "2", pay_with: "wechat" };
  assert.equal(bodyOf(draft, "", methodOf("wechat")).pay_method, undefined);

  Object.defineProperty(navigator, "userAgent", { value: "Mobile MicroMessenger/8.0.50" });

  assert.equal(bodyOf(draft, "", methodOf("wechat")).pay_method, "jsapi");
  assert.equal(bodyOf({ ...draft, pay_with: "host" }, "", methodOf("host")).pay_method, undefined);
  assert.equal(bodyOf({ ...draft, pay_with: "balance" }, "", "jsapi").pay_method, undefined);
});
