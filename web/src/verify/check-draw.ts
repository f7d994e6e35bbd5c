/** Checks one draw by the proof of its day. */

import type { Client, Schemas } from "../api/client.ts";
import { problemOf } from "../api/problems.ts";
import { chainCommitment, choose, drawPoint, roundOfDraw } from "./draws.ts";
import { isChainTrue, randomnessOf } from "./terms.ts";

type Draw = Schemas["Draws"]["items"][number];

/**
 * `later` until the day is over. Throws any other problem. A round of the beacon is taken as the proof
 * has it: `python3 -m redpacket.verify` checks its signature (docs/fairness.md).
 */
export async function checkDraw(
  client: Client,
  campaignId: string,
  userToken: string,
  draw: Draw,
): Promise<"true" | "false" | "later"> {
  let proof: Schemas["DrawProof"];
  try {
    proof = await client.get(`/campaigns/${campaignId}/proof?day=${draw.day}`);
  } catch (error) {
    if (problemOf(error).code === "proof_not_ready") return "later";
    throw error;
  }
  // A draw with a round of its own brings it along, and may say that its prize was gone.
  const own = proof.beacon?.is_per_draw ? draw : undefined;
  const roundNo = own ? roundOfDraw(proof.beacon!, draw.attempted_at_ms ?? 0) : proof.beacon_round;
  const { signature } = own ?? proof;
  const randomness = signature ? randomnessOf(signature) : undefined;
  const point = drawPoint(proof.seed, campaignId, userToken, draw.n, randomness);
  const isTrue =
    chainCommitment(proof.seed, campaignId, draw.day, proof.beacon) === proof.commitment &&
    draw.beacon_round === roundNo &&
    (!proof.beacon || isChainTrue(proof.beacon)) &&
    point === draw.point &&
    choose(draw.odds, point) === (draw.prize?.prize_id ?? own?.gone_prize_id ?? null);
  return isTrue ? "true" : "false";
}
