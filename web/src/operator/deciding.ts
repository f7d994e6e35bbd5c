/** Permission to approve a change, which the requester and the payee never have, and permission to end a packet. */

import type { Approval, Packet } from "./lists.ts";
import type { Duties } from "./roles.ts";

export type Decision = "decide" | "finish" | "own" | "payee" | "over";

/** Returns what the operator *me* can do about *row*, or the reason why the operator can do nothing. */
export function decisionOf(row: Approval, me: string | undefined): Decision {
  // The approval was interrupted before the change was applied. Approving again continues it.
  const isCutOff = row.status === "approved" && !row.is_applied && !row.refusal;
  if (row.status !== "awaiting" && !isCutOff) return "over";
  if (row.asked_by.id === me) return "own";
  if (row.payee === me) return "payee";
  return isCutOff ? "finish" : "decide";
}

/**
 * Returns whether an operator may end the packet. Nobody ends a prize's packet, and only administrators end one without
 * a campaign.
 */
export function mayEnd({ status, campaign_id, prize_id }: Packet, duties: Duties): boolean {
  const isOpen = status === "open" || status === "unpaid";
  return isOpen && !prize_id && duties.may(campaign_id ? "end_packet" : "end_any_packet");
}
