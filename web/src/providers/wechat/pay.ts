/** Payments and confirmations in WeChat's own browser. */

import type { Schemas } from "../../api/client.ts";

interface Bridge {
  invoke(name: string, options: object, done: () => void): void;
}

/** Asks the user to pay. Returns when WeChat has closed its form, even without a payment. */
export async function pay(prompt: Schemas["WeChatPrompt"]): Promise<void> {
  const bridge = await bridgeOf();
  // Only the API knows the outcome: WeChat may report "ok" before the money arrives.
  await new Promise<void>((done) => bridge.invoke("getBrandWCPayRequest", prompt, done));
}

/** Lets the user confirm a transfer. Returns when WeChat has closed its form. */
export async function confirm({ mch_id, app_id, package: token }: Schemas["Confirmation"]): Promise<void> {
  const bridge = await bridgeOf();
  const options = { mchId: mch_id, appId: app_id, package: token };
  await new Promise<void>((done) => bridge.invoke("requestMerchantTransfer", options, done));
}

/** Returns WeChat's bridge, which WeChat adds shortly after the page has loaded. */
function bridgeOf(): Promise<Bridge> {
  const findBridge = () => (globalThis as { WeixinJSBridge?: Bridge }).WeixinJSBridge;
  const bridge = findBridge();
  if (bridge) return Promise.resolve(bridge);
  return new Promise((done) => {
    document.addEventListener("WeixinJSBridgeReady", () => done(findBridge()!), { once: true });
  });
}
