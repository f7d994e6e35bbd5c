/** Runs the mini-program against a real stack. Arguments: the URLs of the API and the gateway, and a campaign's id. */

import assert from "node:assert/strict";
import { join } from "node:path";

import { close, leave, render, require, restart, ROOT, until, type Shown, type WxRequest } from "./miniprogram.ts";

const [api = "", gateway = "", campaign = ""] = process.argv.slice(2);
const TIMEOUT_MS = 60_000;
const PROMPT = ["nonceStr", "package", "paySign", "signType", "timeStamp"];

let user = "";
let paid = "";
let opened = "";
const stored = new Map<string, unknown>();

/** Waits for the page, because a cold function may reject the first requests. */
const shown = (is: () => boolean, what: string) => until(is, what, TIMEOUT_MS);

/** Repeats a check until the stack's background work is done. */
async function eventually(is: () => Promise<boolean>, what: string): Promise<void> {
  for (let looks = 0; looks < TIMEOUT_MS / 500; looks++) {
    if (await is()) return;
    await new Promise((done) => setTimeout(done, 500));
  }
  assert.fail(`never: ${what}`);
}

async function post(url: string, body: object): Promise<void> {
  const headers = { "content-type": "application/json" };
  const answer = await fetch(url, { method: "POST", headers, body: JSON.stringify(body) });
  assert.ok(answer.ok, await answer.text());
}

/** Fake of WeChat's API: requests are real, and the user always agrees to pay. */
const wx = {
  request({ url, method, header, data, success, fail }: WxRequest) {
    const body = data && JSON.stringify(data);
    fetch(url, { method, headers: header, ...(body ? { body } : {}) })
      .then(async (answer) => {
        const told = (await answer.json()) as { payment_id?: string };
        if (method === "POST" && told.payment_id) paid = told.payment_id;
        success({ statusCode: answer.status, data: told, header: Object.fromEntries(answer.headers) });
      })
      .catch(fail);
  },
  login: ({ success }: { success: (told: { code: string }) => void }) => success({ code: `code-${user}` }),
  getRandomValues: () => Promise.resolve({ randomValues: crypto.getRandomValues(new Uint8Array(16)).buffer }),
  requestPayment({ success, fail, ...prompt }: Record<string, unknown>) {
    assert.deepEqual(Object.keys(prompt).sort(), PROMPT);
    assert.match(String(prompt.package), /^prepay_id=wx/);
    post(`${gateway}/_fake/pay`, { payment_id: paid }).then(success as () => void, fail as () => void);
  },
  getStorageSync: (key: string) => stored.get(key),
  setStorageSync: (key: string, value: unknown) => stored.set(key, value),
  removeStorageSync: (key: string) => stored.delete(key),
  vibrateShort: () => undefined,
  redirectTo: ({ url }: { url: string }) => (opened = url),
};

/** Starts the mini-program as *name* on a page with the parameters of a card's path. */
function open(name: string, path: string): Shown {
  leave();
  restart();
  (require(join(ROOT, "config.js")) as { api: string }).api = api;
  user = `mini-${name}`;
  const [place = "", query] = path.split("?");
  const page = render(wx, place.replace(/^\//, ""));
  void page.instance.onLoad?.(Object.fromEntries(new URLSearchParams(query)));
  return page;
}

const me = () => {
  const { ask } = require(join(ROOT, "api.js")) as {
    ask: (method: string, path: string) => Promise<{ user_token: string; balance_fen: number }>;
  };
  return ask("GET", "/me");
};

/** Opens the packet of a card. Returns the displayed fen and the path of the next card. */
async function take(name: string, path: string): Promise<{ fen: number; card: string }> {
  const page = open(name, path);
  const packet = page.querySelector("#packet")!;
  await shown(() => packet.data.state === "ready", "a cover");
  assert.match(page.dom.textContent, /岁岁平安/);
  packet.querySelector(".coin")!.dispatchEvent("tap");
  await shown(() => packet.data.state === "opened", "an amount");
  const fen = Math.round(100 * Number(packet.data.amount));
  await eventually(async () => (await me()).balance_fen === fen, "the share in the purse");
  const { title, path: card } = page.instance.onShareAppMessage!() as { title: string; path: string };
  assert.equal(title, "岁岁平安");
  assert.ok(card.endsWith(`&via=${(await me()).user_token}`), card);
  return { fen, card };
}

const send = open("ann", "/pages/send/index");
for (const [name, value] of Object.entries({ total: "8.88", count: "2", greeting: "岁岁平安" })) {
  send.instance.type!({ currentTarget: { dataset: { name } }, detail: { value } });
}
await send.instance.send!();
assert.match(opened, /^\/pages\/packet\/index\?id=/, send.dom.textContent);
assert.equal(stored.size, 0);

const bob = await take("bob", opened);
const cat = await take("cat", bob.card);
assert.equal(bob.fen + cat.fen, 888);

const rain = open("bob", `/pages/rain/index?campaign=${campaign}`);
await shown(() => rain.querySelectorAll(".drop").length > 0, "drops");
for (const drop of rain.querySelectorAll(".drop")) drop.dispatchEvent("tap");
await shown(() => rain.data.isOver === true, "the end");
const wonFen = Math.round(100 * Number(/抢到 (\d+\.\d\d) 元/.exec(rain.dom.textContent)![1]));
await eventually(async () => (await me()).balance_fen === bob.fen + wonFen, "the rain in the purse");

leave();
await close();
console.log(JSON.stringify({ bob: bob.fen, cat: cat.fen, rain: wonFen }));
