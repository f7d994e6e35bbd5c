/** Comparison of the API's records of an ended packet with the amounts computed from its terms. */

import type { Schemas } from "../api/client.ts";
import { amountsFen } from "./splits.ts";
import { commitmentOf, Impossible, type Terms } from "./terms.ts";

export interface Difference {
  share_no: number;
  claimed_fen: number;
  real: number | undefined;
}

export interface Verdict {
  /** `partly` means that nothing differs, but amounts were hidden when the record was read. */
  state: "true" | "false" | "partly";
  commitment: string;
  isCommitmentTrue: boolean;
  /** Undefined if this device has not stored the commitment before. */
  isNotedTrue: boolean | undefined;
  amounts: number[];
  isSumTrue: boolean;
  claimCount: number;
  /** Number of faults: shares with two owners, and users with two shares. */
  doubleCount: number;
  differences: Difference[];
}

type Claim = Pick<Schemas["ShownClaim"], "share_no" | "amount_fen" | "user_token">;

export function verifyPacket(
  proof: Schemas["Proof"],
  shown: readonly number[],
  claims: readonly Claim[],
  noted?: string,
): Verdict {
  const { algorithm, total_fen, count, share_fen_min, share_fen_max, unit_fen, seed } = proof;
  const bounds = { share_fen_min, share_fen_max, unit_fen };
  const terms: Terms = { split: algorithm, total_fen, count, ...bounds, seed };
  const commitment = commitmentOf(terms);
  let amounts: number[] = [];
  try {
    amounts = amountsFen(terms);
  } catch (error) {
    if (!(error instanceof Impossible)) throw error;
  }
  const published = shown.map((amount, place) => ({ share_no: place + 1, claimed_fen: amount }));
  for (const { share_no, amount_fen } of claims) {
    // Amounts that were hidden when the record was read can't be compared.
    if (amount_fen !== null) published.push({ share_no, claimed_fen: amount_fen });
  }
  const differences = published
    .map((share) => ({ ...share, real: amounts[share.share_no - 1] }))
    .filter((share) => share.claimed_fen !== share.real);
  const isCommitmentTrue = commitment === proof.commitment;
  const isNotedTrue = noted === undefined ? undefined : noted === commitment;
  const isWhole = shown.length === count && amounts.length === count;
  const isSumTrue = isWhole && amounts.reduce((sum, amount) => sum + amount, 0) === total_fen;
  const doubleCount = countDoubles(claims);
  const isTrue =
    isCommitmentTrue &&
    isNotedTrue !== false &&
    isSumTrue &&
    differences.length + doubleCount === 0;
  const isWholly = claims.every(({ amount_fen }) => amount_fen !== null);
  return {
    state: isTrue ? (isWholly ? "true" : "partly") : "false",
    commitment,
    isCommitmentTrue,
    isNotedTrue,
    amounts,
    isSumTrue,
    claimCount: claims.length,
    doubleCount,
    differences,
  };
}

function countDoubles(claims: readonly Claim[]): number {
  const owned = new Set(claims.map(({ user_token, share_no }) => `${share_no} ${user_token}`));
  const shares = new Set(claims.map(({ share_no }) => share_no));
  const owners = new Set(claims.map(({ user_token }) => user_token));
  return 2 * owned.size - shares.size - owners.size;
}
