/** WeChat's part of /config.json: the app, and the URL that identifies its users. */

import type { Config } from "../../config.ts";

export function isSetUp({ wechat }: Config): boolean {
  return wechat !== undefined;
}

export function partOf({ wechat: { app_id = "", authorize_url = "", scope = "" } = {} }: Config) {
  return { app_id, authorize_url, scope };
}
