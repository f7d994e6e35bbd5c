/** WeChat as a provider: payments, confirmations, sign-in, sharing and speech recognition in its own browser. */

import type { Provider } from "../provider.ts";
import { isSetUp, partOf } from "./config.ts";
import { en, zh } from "./words.ts";

export const wechat: Provider = {
  words: { "zh-CN": zh, en },
  app: {
    isHere: () => navigator.userAgent.includes("MicroMessenger"),
    isSetUp,
    speech: () => import("./speech.ts"),
    sharing: () => import("./share.ts"),
    signIn: () => import("./sign-in.ts"),
    hasFaces: (config) => partOf(config).scope !== "",
  },
  payment: {
    codeOf: (payment) => payment.wechat?.code_url,
    isForApp: (payment) => Boolean(payment.wechat?.package),
    pay: async (payment) => (await import("./pay.ts")).pay(payment.wechat!),
  },
  transfer: {
    awaitsUser: (withdrawal) => Boolean(withdrawal.wechat),
    canConfirm: () => "WeixinJSBridge" in globalThis,
    confirm: async (withdrawal) => (await import("./pay.ts")).confirm(withdrawal.wechat!),
  },
  account: {
    find: (client) => client.get("/me/wechat"),
    ask: async (config) => (await import("./account.ts")).ask(config),
    bind: async (client, config) => (await import("./account.ts")).bind(client, config),
  },
};
