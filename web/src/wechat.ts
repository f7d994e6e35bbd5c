/** The user's WeChat account: WeChat leads back to the wallet with a code that names it. */

import { newKey } from "./api/keys.ts";
import type { WeChat } from "./config.ts";
import { navigate } from "./router.ts";
import { session } from "./session.ts";
import { authorizationUrl } from "./wechat-sign-in.ts";

const SLOT = "redpacket.wechat";
const BACK = "/wallet";

/** Leaves for WeChat, which asks nothing and comes back at once. */
export function askWeChat(wechat: WeChat): void {
  const state = newKey();
  sessionStorage.setItem(SLOT, state);
  location.assign(authorizationUrl(wechat, BACK, state));
}

/** Binds the account that this page load comes back with; false where it comes from elsewhere. */
export async function bindWeChat(): Promise<boolean> {
  const query = new URLSearchParams(location.search);
  const code = query.get("code");
  if (!code || !session.config?.wechat) return false;
  // A code is good once: a reload must not send it again.
  navigate(BACK, true);
  // Without this tab's own state, the code may be somebody else's, who would get this user's money.
  const state = sessionStorage.getItem(SLOT);
  sessionStorage.removeItem(SLOT);
  if (!state || query.get("state") !== state) return false;
  await session.client.ask("POST", "/me/wechat", { body: { code } });
  return true;
}
