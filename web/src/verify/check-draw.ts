/** Check of one draw against the proof of its day. */

import type { Client, Schemas } from "../api/client.ts";
import { problemOf } from "../api/problems.ts";
import { chainCommitment, choose, drawPoint, randomnessOf } from "./draws.ts";

type Draw = Schemas["Draws"]["items"][number];

/**
 * Checks a draw. Returns `later` until the day is over, and `partly` if everything matches but the draw used a
 * beacon round of earlier releases, whose signature is not verified here (docs/fairness.md).
 */
export async function checkDraw(
  client: Client,
  campaignId: string,
  userToken: string,
  draw: Draw,
): Promise<"true" | "false" | "partly" | "later"> {
  let proof: Schemas["DrawProof"];
  try {
    proof = await client.get(`/campaigns/${campaignId}/proof?day=${draw.day}`);
  } catch (error) {
    if (problemOf(error).code === "proof_not_ready") return "later";
    throw error;
  }
  const randomness = proof.signature ? randomnessOf(proof.signature) : undefined;
  const point = drawPoint(proof.seed, campaignId, userToken, draw.n, randomness);
  const isTrue =
    chainCommitment(proof.seed, campaignId, draw.day, proof.beacon) === proof.commitment &&
    draw.beacon_round === proof.beacon_round &&
    point === draw.point &&
    choose(draw.odds, point) === (draw.prize?.prize_id ?? null);
  return isTrue ? (proof.signature ? "partly" : "true") : "false";
}
