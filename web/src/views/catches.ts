/** Shares that the user has from a campaign's rain, including those caught on another device. */

import type { Client, Schemas } from "../api/client.ts";

/** Amounts in fen, keyed by packet, newest first. */
export type Catches = ReadonlyMap<string, number>;

/** Maximum number of pages of received shares to search. Shares on later pages are not found. */
const PAGES_MAX = 5;

export async function catchesOf(client: Client, campaign: Schemas["Campaign"]): Promise<Catches> {
  const catches = new Map<string, number>();
  let cursor: string | null = "";
  for (let pages = 0; pages < PAGES_MAX && cursor !== null; pages++) {
    const page: Schemas["Received"] = await client.get(`/me/received?${new URLSearchParams(cursor ? { cursor } : {})}`);
    for (const item of page.items) {
      // Cash prizes are also packets of the campaign.
      if (item.campaign_id === campaign.campaign_id && !item.prize_id) catches.set(item.packet_id, item.amount_fen);
    }
    const isOlder = page.items.some((item) => item.at_ms < campaign.starts_at_ms);
    cursor = isOlder ? null : page.next;
  }
  return catches;
}
