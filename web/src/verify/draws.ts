/** What decides a lottery's draws: the day's seed, a draw's id and its odds. */

import { hashText } from "./terms.ts";
import { wordOf } from "./words.ts";

const POINT_BITS = 52;
const ODDS = /^(?:[a-z0-9][a-z0-9_-]{0,62}:\d{1,15}(?:,[a-z0-9][a-z0-9_-]{0,62}:\d{1,15})*)?\|\d{1,15}$/;

/** What was published on that day; *seed* in hex. */
export function dayCommitment(seed: string, campaignId: string, day: string): string {
  return hashText(`rpd1,${campaignId},${day},${seed}`);
}

/** From 0 to 2^52 - 1: exact in a double. */
export function drawPoint(seed: string, drawId: string): number {
  const bytes = Uint8Array.from(seed.match(/../g) ?? [], (pair) => parseInt(pair, 16));
  return Number(wordOf(bytes, drawId) >> BigInt(64 - POINT_BITS));
}

/** The prize that *point* means by *odds*; null for a miss, undefined for odds that can't be read. */
export function choose(odds: string, point: number): string | null | undefined {
  if (!ODDS.test(odds)) return undefined;
  const [listed = "", miss = "0"] = odds.split("|");
  const prizes = listed ? listed.split(",").map((entry) => entry.split(":")) : [];
  const total = prizes.reduce((sum, [, weight]) => sum + Number(weight), Number(miss));
  if (total === 0) return null;
  // The same doubles as in the script that drew.
  let place = Math.floor((point / 2 ** POINT_BITS) * total);
  for (const [prizeId, weight] of prizes) {
    place -= Number(weight);
    if (place < 0) return prizeId;
  }
  return null;
}
