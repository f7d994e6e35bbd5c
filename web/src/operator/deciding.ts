/** Rules of deciding an approval: neither the requester nor the payee, and nothing that is over. */

import type { Approval } from "./lists.ts";

export type Decision = "decide" | "finish" | "own" | "payee" | "over";

/** Decisions that the operator *me* can make about *row*. */
export function decisionOf(row: Approval, me: string | undefined): Decision {
  // Approving was cut off before it was applied: any approval of another operator goes on.
  const isCutOff = row.status === "approved" && !row.is_applied && !row.refusal;
  if (row.status !== "awaiting" && !isCutOff) return "over";
  if (row.asked_by.id === me) return "own";
  if (row.payee === me) return "payee";
  return isCutOff ? "finish" : "decide";
}
