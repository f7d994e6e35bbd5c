/** Registry of the payment providers on the page, in the order in which it offers them. */

import type { Channel, Config } from "../config.ts";
import { host } from "./host.ts";
import type { App, Provider } from "./provider.ts";
import { wechat } from "./wechat/provider.ts";

export const PROVIDERS: Record<Channel, Provider> = { wechat, host };

/** Providers of payments and withdrawals; without one there is no wallet. */
export function channelsOf(config: Config | undefined): Channel[] {
  return (Object.keys(PROVIDERS) as Channel[]).filter((channel) => config?.channels?.includes(channel));
}

/** The app whose browser shows this page, if it is a provider's. */
export function appHere(): App | undefined {
  return Object.values(PROVIDERS).find(({ app }) => app?.isHere())?.app;
}

/** Provider of the sign-in, if any. */
export function signInProvider(config: Config | undefined): Provider | undefined {
  const kind = config?.auth.kind;
  return kind === undefined || kind === "dev" || kind === "oidc" ? undefined : PROVIDERS[kind];
}

/** How a payment is made: a phone can't scan its own screen. */
export function methodOf(channel: Channel): "jsapi" | "native" {
  return PROVIDERS[channel].app?.isHere() ? "jsapi" : "native";
}
