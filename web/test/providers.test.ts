import assert from "node:assert/strict";
import test from "node:test";

import type { Channel, Config } from "../src/config.ts";
import type { App, Provider, Sharing } from "../src/providers/provider.ts";

Object.assign(globalThis, { localStorage: { getItem: () => null } });
const setAgent = (userAgent: string) =>
  Object.defineProperty(globalThis, "navigator", { value: { userAgent, languages: ["en"], language: "en" }, configurable: true });
setAgent("");
const { appHere, channelsOf, methodOf, PROVIDERS, signInProvider } = await import("../src/providers/registry.ts");
const { say } = await import("../src/providers/say.ts");
const base: Config = { api: "/api", auth: { kind: "dev", tokens_url: "" } };

/** A third provider that only this test registers. */
const app: App = {
  isHere: () => navigator.userAgent.includes("CoinApp"),
  isSetUp: () => true,
  sharing: () => Promise.resolve({} as Sharing),
};
const words = { "zh-CN": { name: "金币", pay: "用金币付款" }, en: { name: "Coin", pay: "Pay with {name}" } };
const coin: Provider = { words, app };
const name = "coin" as Channel;
Object.assign(PROVIDERS, { coin });

test("the page offers registered and configured providers in the registry's order", () => {
  assert.deepEqual(channelsOf({ ...base, channels: [name, "host", "wechat"] }), ["wechat", "host", "coin"]);
  assert.deepEqual(channelsOf({ ...base, channels: [name] }), ["coin"]);
  assert.deepEqual([channelsOf(base), channelsOf(undefined)], [[], []]);
});

test("a third provider's app is recognized by its browser, and pays there", () => {
  assert.deepEqual([appHere(), methodOf(name)], [undefined, "native"]);

  setAgent("CoinApp/1");

  assert.equal(appHere(), app);
  assert.deepEqual([methodOf(name), methodOf("wechat"), methodOf("host")], ["jsapi", "native", "native"]);
  setAgent("");
});

test("users sign in only with the configured provider", () => {
  assert.equal(signInProvider({ ...base, auth: { kind: name } }), coin);
  assert.deepEqual([signInProvider(base), signInProvider(undefined)], [undefined, undefined]);
});

test("a provider has its own words in the current language, and none for unsupported features", () => {
  assert.equal(say(coin, "pay", { name: "Coin" }), "Pay with Coin");
  assert.equal(say(coin, "bind"), "");
});

test("each provider has the same words in both languages", () => {
  for (const provider of Object.values(PROVIDERS)) {
    assert.deepEqual(Object.keys(provider.words.en), Object.keys(provider.words["zh-CN"]));
  }
});
