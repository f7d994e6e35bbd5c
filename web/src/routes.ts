/** Paths of the page. Links are plain links, so they also open in a new tab. */

import { CAMPAIGN_ID, PACKET_ID, PAYMENT_ID } from "./api/ids.ts";
import { matchOf } from "./paths.ts";

export interface Route {
  view: "home" | "send" | "packet" | "share" | "proof" | "campaign" | "wallet" | "notices" | "payment" | "lost";
  id: string;
}

const PATHS: [RegExp, Route["view"]][] = [
  [/^\/$/, "home"],
  [/^\/send$/, "send"],
  [new RegExp(`^/packets/(${PACKET_ID})$`), "packet"],
  [new RegExp(`^/packets/(${PACKET_ID})/share$`), "share"],
  [new RegExp(`^/packets/(${PACKET_ID})/proof$`), "proof"],
  [new RegExp(`^/campaigns/(${CAMPAIGN_ID})$`), "campaign"],
  [/^\/wallet$/, "wallet"],
  [/^\/notices$/, "notices"],
  [new RegExp(`^/payments/(${PAYMENT_ID})$`), "payment"],
];

export function routeOf(path: string): Route {
  const { name: view, id } = matchOf(PATHS, path) ?? { name: "lost", id: "" };
  return { view, id };
}
