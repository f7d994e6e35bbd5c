/** Inputs of a lottery's draws: the day's seed, the user, the draw's number and its odds. */

import { sha256 } from "@noble/hashes/sha2.js";

import { bytesOf, hashText, hex } from "./terms.ts";

const POINT_BITS = 52;
const ODDS = /^(?:[a-z0-9][a-z0-9_-]{0,62}:\d{1,15}(?:,[a-z0-9][a-z0-9_-]{0,62}:\d{1,15})*)?\|\d{1,15}$/;
const CHAIN_FIRST_DAY = Date.UTC(2026, 0, 1);
const DAY_MS = 24 * 3600 * 1000;

/** Recomputes the campaign's published commitment from a day's *seed*, which is in hex. *day* is like 20270129. */
export function chainCommitment(seed: string, campaignId: string, day: string): string {
  const [year, month, date] = [day.slice(0, 4), day.slice(4, 6), day.slice(6)].map(Number);
  const days = (Date.UTC(year!, month! - 1, date) - CHAIN_FIRST_DAY) / DAY_MS + 1;
  let head = bytesOf(seed);
  // The hash of each day's seed is the seed of the day before.
  for (let count = 0; count < days; count++) head = sha256(head);
  return hashText(`rpc1,${campaignId},${hex(head)}`);
}

/** Returns the text that is hashed to the point. No user can choose any part of it. */
export function pointText(seed: string, campaignId: string, userToken: string, n: number): string {
  return `rpd2,${seed},none,${campaignId},${userToken},${n}`;
}

/** Returns a point from 0 to 2^52 - 1, which is exact in a double. */
export function drawPoint(seed: string, campaignId: string, userToken: string, n: number): number {
  const digest = hashText(pointText(seed, campaignId, userToken, n));
  return parseInt(digest.slice(0, POINT_BITS / 4), 16);
}

/** Returns the id of the prize at *point* in *odds*, null for a miss, or undefined if the odds can't be parsed. */
export function choose(odds: string, point: number): string | null | undefined {
  if (!ODDS.test(odds)) return undefined;
  const [listed = "", miss = "0"] = odds.split("|");
  const prizes = listed ? listed.split(",").map((entry) => entry.split(":")) : [];
  const total = prizes.reduce((sum, [, weight]) => sum + Number(weight), Number(miss));
  if (total === 0) return null;
  // Use the same double arithmetic as the Lua script that drew.
  let place = Math.floor((point / 2 ** POINT_BITS) * total);
  for (const [prizeId, weight] of prizes) {
    place -= Number(weight);
    if (place < 0) return prizeId;
  }
  return null;
}
