/** The user's WeChat account. WeChat redirects back to the wallet with a code that identifies it. */

import type { Client } from "../../api/client.ts";
import { newKey } from "../../api/keys.ts";
import { Problem } from "../../api/problems.ts";
import type { Config } from "../../config.ts";
import { navigate } from "../../router.ts";
import { tab } from "../../store.ts";
import { isSetUp } from "./config.ts";
import { authorizationUrl } from "./sign-in.ts";

const SLOT = "redpacket.wechat";
const BACK = "/wallet";

/** Redirects to WeChat, which returns immediately without asking the user. */
export function ask(config: Config): void {
  const state = newKey();
  if (!tab.keep(SLOT, state)) throw new Problem("no_storage");
  location.assign(authorizationUrl(config, BACK, state));
}

export async function bind(client: Client, config: Config): Promise<boolean> {
  const query = new URLSearchParams(location.search);
  const code = query.get("code");
  if (!code || !isSetUp(config)) return false;
  // A code is valid only once, so a reload must not send it again.
  navigate(BACK, true);
  // Without this tab's state, the code may belong to an attacker, who would then get this user's money.
  const state = tab.getItem(SLOT);
  tab.removeItem(SLOT);
  if (!state || query.get("state") !== state) return false;
  await client.ask("POST", "/me/wechat", { body: { code } });
  return true;
}
