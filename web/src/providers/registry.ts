/** Registry of the payment providers, in the order in which the page offers them. */

import type { Channel, Config } from "../config.ts";
import { host } from "./host.ts";
import type { App, Provider } from "./provider.ts";
import { wechat } from "./wechat/provider.ts";

export const PROVIDERS: Record<Channel, Provider> = { wechat, host };

/** Returns the deployment's providers of payments and withdrawals. Without a provider, the page has no wallet. */
export function channelsOf(config: Config | undefined): Channel[] {
  return (Object.keys(PROVIDERS) as Channel[]).filter((channel) => config?.channels?.includes(channel));
}

/** Returns the provider's app that shows this page, if any. */
export function appHere(): App | undefined {
  return Object.values(PROVIDERS).find(({ app }) => app?.isHere())?.app;
}

/** Returns the sign-in provider, if any. */
export function signInProvider(config: Config | undefined): Provider | undefined {
  const kind = config?.auth.kind;
  return kind === undefined || kind === "dev" || kind === "oidc" ? undefined : PROVIDERS[kind];
}

/** Returns the payment method: `native` shows a code to scan, but a phone can't scan its own screen. */
export function methodOf(channel: Channel): "jsapi" | "native" {
  return PROVIDERS[channel].app?.isHere() ? "jsapi" : "native";
}
