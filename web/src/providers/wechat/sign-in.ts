/** Silent sign-in in WeChat's own browser: WeChat names the account, and the API issues a token. */

import type { Client } from "../../api/client.ts";
import { newKey } from "../../api/keys.ts";
import { Problem } from "../../api/problems.ts";
import type { Config } from "../../config.ts";
import { BACK, HOME, type Arrival } from "../../oidc.ts";
import { tab } from "../../store.ts";
import { partOf } from "./config.ts";

const SLOT = "redpacket.wechat-sign-in";
const REPEATS = 3;

/** State of a sign-in while the user is at WeChat. The path is stored here, so a link can't choose it. */
interface Journey {
  state: string;
  path: string;
}

/** Returns the URL at which WeChat identifies the user. WeChat redirects back to *path* on this origin. */
export function authorizationUrl(config: Config, path: string, state: string, scope = "snsapi_base"): string {
  const { app_id, authorize_url } = partOf(config);
  // WeChat may return to another browser, which lacks a staging tester's cookie, so the URL contains its value.
  const [, to] = /(?:^|; )rp_to=([^;]+)/.exec(document.cookie) ?? [];
  const question = new URLSearchParams({
    appid: app_id,
    redirect_uri: location.origin + path + (to ? `?to=${to}` : ""),
    response_type: "code",
    scope,
    state,
  });
  return `${authorize_url}?${question.toString()}#wechat_redirect`;
}

/** Redirects to WeChat, and later back to *path*. WeChat asks the user only if *isNamed*. */
export function depart(config: Config, path: string, isNamed = false): void {
  const journey: Journey = { state: newKey(), path };
  // WeChat's answer is useless without this state.
  if (!tab.keep(SLOT, JSON.stringify(journey))) throw new Problem("no_storage");
  // Replace the history entry, so that Back returns to the reader's previous page.
  const scope = isNamed ? partOf(config).scope : undefined;
  location.replace(authorizationUrl(config, BACK, journey.state, scope));
}

export async function arrive(client: Client): Promise<Arrival | undefined> {
  if (location.pathname !== BACK) return undefined;
  const noted = tab.getItem(SLOT);
  // A state is valid only once.
  tab.removeItem(SLOT);
  // This tab started no sign-in. Redirecting again could loop.
  if (!noted) return { path: HOME, reason: "failed" };
  const { state, path } = JSON.parse(noted) as Journey;
  const answer = new URLSearchParams(location.search);
  const code = answer.get("code");
  // A different state means another person's code, which would sign this user in to that person's account.
  if (!code || answer.get("state") !== state) return { path, reason: "failed" };
  try {
    const ask = { body: { code }, repeats: REPEATS };
    const { token } = await client.ask("POST", "/auth/wechat", ask);
    return { path, tokens: { access_token: token } };
  } catch {
    return { path, reason: "failed" };
  }
}
