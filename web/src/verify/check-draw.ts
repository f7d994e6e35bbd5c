/** Check of one draw against the day's proof. */

import type { Client, Schemas } from "../api/client.ts";
import { problemOf } from "../api/problems.ts";
import { chainCommitment, choose, drawPoint } from "./draws.ts";

type Draw = Schemas["Draws"]["items"][number];

/** Checks a draw. Returns `later` until the day is over. */
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
  const point = drawPoint(proof.seed, campaignId, userToken, draw.n);
  const isTrue =
    chainCommitment(proof.seed, campaignId, draw.day) === proof.commitment &&
    point === draw.point &&
    choose(draw.odds, point) === (draw.prize?.prize_id ?? null);
  return isTrue ? "true" : "false";
}
