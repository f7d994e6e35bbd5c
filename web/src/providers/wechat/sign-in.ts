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

/** The state of a sign-in while WeChat has the user. The path stays here, so no link can choose it. */
interface Journey {
  state: string;
  path: string;
}

/** Address at which WeChat identifies the user; it comes back to *path* of this origin. */
export function authorizationUrl(config: Config, path: string, state: string, scope = "snsapi_base"): string {
  const { app_id, authorize_url } = partOf(config);
  // WeChat may come back to another browser, without the cookie of a tester of the staging stack.
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

/** Leaves for WeChat, which asks only for a name; comes back to *path*. */
export function depart(config: Config, path: string, isNamed = false): void {
  const journey: Journey = { state: newKey(), path };
  // Without it, nothing could be done with the answer.
  if (!tab.keep(SLOT, JSON.stringify(journey))) throw new Problem("no_storage");
  // Not in the history: Back returns to the reader's previous page.
  const scope = isNamed ? partOf(config).scope : undefined;
  location.replace(authorizationUrl(config, BACK, journey.state, scope));
}

export async function arrive(client: Client): Promise<Arrival | undefined> {
  if (location.pathname !== BACK) return undefined;
  const noted = tab.getItem(SLOT);
  // A state is valid once.
  tab.removeItem(SLOT);
  // Without a redirect started by this tab, leaving again could loop.
  if (!noted) return { path: HOME, reason: "failed" };
  const { state, path } = JSON.parse(noted) as Journey;
  const answer = new URLSearchParams(location.search);
  const code = answer.get("code");
  // Another state is somebody else's code, which would sign this user in as them.
  if (!code || answer.get("state") !== state) return { path, reason: "failed" };
  try {
    const ask = { body: { code }, repeats: REPEATS };
    const { token } = await client.ask("POST", "/auth/wechat", ask);
    return { path, tokens: { access_token: token } };
  } catch {
    return { path, reason: "failed" };
  }
}
