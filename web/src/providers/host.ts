/** The host's own wallet, in which users pay. A user's token identifies the account. */

import type { Provider } from "./provider.ts";

export const host: Provider = {
  words: {
    "zh-CN": { name: "平台钱包", pay: "请在平台钱包里付款" },
    en: { name: "Site wallet", pay: "Pay in the site wallet" },
  },
};
