import assert from "node:assert/strict";
import test from "node:test";

import type { Config } from "../src/config.ts";

const slots = new Map<string, string>();
const at = { origin: "https://page.example", pathname: "/wallet", search: "", assign: () => undefined };
Object.assign(globalThis, {
  location: at,
  scrollY: 0,
  history: { pushState: () => undefined, replaceState: () => undefined },
  document: { cookie: "", addEventListener: () => undefined },
  addEventListener: () => undefined,
  sessionStorage: {
    getItem: (name: string) => slots.get(name) ?? null,
    setItem: (name: string, text: string) => void slots.set(name, text),
    removeItem: (name: string) => void slots.delete(name),
  },
});
const { ask, bind } = await import("../src/providers/wechat/account.ts");
const { session } = await import("../src/session.ts");
const wechat = { app_id: "wx1", authorize_url: "https://open.example/authorize" };
const config: Config = { api: "/api", auth: { kind: "dev", tokens_url: "" }, wechat };

/** Opens the wallet with *search*. Returns whether an account was linked, and the requests. */
async function open(context: test.TestContext, search: string): Promise<[boolean, unknown[]]> {
  const sent: unknown[] = [];
  context.mock.method(session.client, "ask", (...call: unknown[]) => Promise.resolve(sent.push(call)));
  at.search = search;
  return [await bind(session.client, session.config!), sent];
}

test("a link with another person's code links no account", async (context) => {
  session.config = config;

  assert.deepEqual(await open(context, "?code=attackers"), [false, []]);
  assert.deepEqual(await open(context, "?code=attackers&state="), [false, []]);
  assert.deepEqual(await open(context, "?code=attackers&state=null"), [false, []]);
});

test("a code with this tab's state links the account once", async (context) => {
  session.config = config;
  ask(config);
  const [state] = slots.values();

  const [isBound, sent] = await open(context, `?code=mine&state=${state}`);

  assert.ok(isBound);
  assert.deepEqual(sent, [["POST", "/me/wechat", { body: { code: "mine" } }]]);
  assert.deepEqual(await open(context, `?code=mine&state=${state}`), [false, []]);
});

test("a staging tester returns to the staging stack, even in another browser", () => {
  const led: string[] = [];
  Object.assign(at, { assign: (to: string) => led.push(to) });
  for (const cookie of ["", "lang=zh; rp_to=staging.18.ab; other=1", "xrp_to=staging.18.ab"]) {
    document.cookie = cookie;
    ask(config);
  }

  const back = led.map((to) => new URL(to).searchParams.get("redirect_uri"));
  const wallet = "https://page.example/wallet";
  assert.deepEqual(back, [wallet, `${wallet}?to=staging.18.ab`, wallet]);
});

test("a deployment without WeChat links no account", async (context) => {
  ask(config);
  const [state] = slots.values();
  session.config = { api: "/api", auth: { kind: "dev", tokens_url: "" } };

  assert.deepEqual(await open(context, `?code=mine&state=${state}`), [false, []]);
});
