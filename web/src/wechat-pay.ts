/** Payments in WeChat's own browser. */

import type { Schemas } from "./api/client.ts";

interface Bridge {
  invoke(name: string, options: object, done: () => void): void;
}

/** Asks the user to pay; returns when WeChat has closed its form, whatever came of it. */
export async function payInWeChat(prompt: Schemas["WeChatPrompt"]): Promise<void> {
  const bridge = await bridgeOf();
  // The outcome is the API's to tell: WeChat may say "ok" before the money is there.
  await new Promise<void>((done) => bridge.invoke("getBrandWCPayRequest", prompt, done));
}

/** WeChat adds its bridge to a page soon after it has loaded. */
function bridgeOf(): Promise<Bridge> {
  const findBridge = () => (globalThis as { WeixinJSBridge?: Bridge }).WeixinJSBridge;
  const bridge = findBridge();
  if (bridge) return Promise.resolve(bridge);
  return new Promise((done) => {
    document.addEventListener("WeixinJSBridgeReady", () => done(findBridge()!), { once: true });
  });
}
