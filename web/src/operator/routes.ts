/** Paths of the console. */

import { CAMPAIGN_ID, NAMED_PACKET } from "../api/ids.ts";
import { matchOf } from "../paths.ts";
import type { Duty } from "./roles.ts";

export type Place =
  | ("campaigns" | "new_campaign" | "campaign" | "edit_campaign" | "wall" | "winners" | "packets" | "claims")
  | ("approvals" | "deposits" | "withdrawals" | "switches" | "journal" | "lost");

export interface Route {
  place: Place;
  id: string;
}

const PATHS: [RegExp, Place][] = [
  [/^\/operator\/?$/, "campaigns"],
  [/^\/operator\/new$/, "new_campaign"],
  [new RegExp(`^/operator/campaigns/(${CAMPAIGN_ID})$`), "campaign"],
  [new RegExp(`^/operator/campaigns/(${CAMPAIGN_ID})/edit$`), "edit_campaign"],
  [new RegExp(`^/operator/campaigns/(${CAMPAIGN_ID})/wall$`), "wall"],
  [new RegExp(`^/operator/campaigns/(${CAMPAIGN_ID})/winners$`), "winners"],
  [/^\/operator\/packets$/, "packets"],
  [new RegExp(`^/operator/packets/(${NAMED_PACKET})$`), "claims"],
  [/^\/operator\/approvals$/, "approvals"],
  [/^\/operator\/deposits$/, "deposits"],
  [/^\/operator\/withdrawals$/, "withdrawals"],
  [/^\/operator\/switches$/, "switches"],
  [/^\/operator\/journal$/, "journal"],
];

export function routeOf(path: string): Route {
  const { name: place, id } = matchOf(PATHS, path) ?? { name: "lost", id: "" };
  return { place, id };
}

/** Places in the navigation bar, with the duties that they need. */
export const PLACES = [
  { place: "campaigns", path: "/operator", duty: "read" },
  { place: "packets", path: "/operator/packets", duty: "read" },
  { place: "approvals", path: "/operator/approvals", duty: "see_approvals" },
  { place: "deposits", path: "/operator/deposits", duty: "deposit" },
  { place: "withdrawals", path: "/operator/withdrawals", duty: "see_withdrawals" },
  { place: "switches", path: "/operator/switches", duty: "read" },
  { place: "journal", path: "/operator/journal", duty: "see_journal" },
] as const satisfies readonly { place: Place; path: string; duty: Duty }[];
