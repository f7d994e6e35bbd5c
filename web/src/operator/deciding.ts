/** Rules of two decisions: about an approval, neither the requester nor the payee; about a packet's end, by role. */

import type { Approval, Packet } from "./lists.ts";
import type { Duties } from "./roles.ts";

export type Decision = "decide" | "finish" | "own" | "payee" | "over";

/** Decisions that the operator *me* can make about *row*. */
export function decisionOf(row: Approval, me: string | undefined): Decision {
  // The approval was interrupted before it was applied: another operator's approval continues it.
  const isCutOff = row.status === "approved" && !row.is_applied && !row.refusal;
  if (row.status !== "awaiting" && !isCutOff) return "over";
  if (row.asked_by.id === me) return "own";
  if (row.payee === me) return "payee";
  return isCutOff ? "finish" : "decide";
}

/** Whether an operator may end the packet: without a campaign it takes an administrator, and prizes keep theirs. */
export function mayEnd({ status, campaign_id, prize_id }: Packet, duties: Duties): boolean {
  const isOpen = status === "open" || status === "unpaid";
  return isOpen && !prize_id && duties.may(campaign_id ? "end_packet" : "end_any_packet");
}
