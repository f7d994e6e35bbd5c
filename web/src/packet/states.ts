/** What a packet can look like to one viewer, and which of it follows from an answer. */

import type { Schemas } from "../api/client.ts";
import type { Code } from "../api/problems.ts";

export type Claim = Pick<Schemas["Claim"], "amount_fen" | "share_no" | "claimed_at_ms" | "payout">;
export type Emoji = Schemas["ThanksBody"]["emoji"];
export type Feed = Schemas["Feed"];
export type Packet = Schemas["Record"];

/** What is known of the cover, from the feed or from the viewer's own record. */
export interface Cover {
  nickname: string;
  avatar_url: string | null;
  greeting: string;
  kind: "equal" | "lucky";
  is_exclusive: boolean;
  needs_passphrase: boolean;
  is_two_step: boolean;
  starts_at_ms: number;
  /** A picture, on a host that the deployment allows. */
  cover_url: string | null;
}

export type State =
  | "loading" // nothing is known yet
  | "signed_out" // the cover can be seen, not opened
  | "waiting" // before its start
  | "ready" // one tap away
  | "opening" // asked, and the coin turns
  | "confirming" // the outcome isn't known; asked again by itself
  | "admitted" // step one of two is done
  | "opened" // the viewer has a share
  | "sent" // by the viewer, who follows it
  | "gone" // emptied
  | "expired"
  | "refused" // not for this viewer, or not now
  | "missing";

/** Whether the inside is shown instead of the cover. */
export function isOpen(state: State): boolean {
  return ["opened", "sent", "gone", "expired"].includes(state);
}

export function coverOf(packet: Packet): Cover {
  return {
    nickname: packet.sender.nickname,
    avatar_url: packet.sender.avatar_url,
    greeting: packet.greeting,
    kind: packet.kind,
    is_exclusive: packet.is_exclusive,
    needs_passphrase: packet.needs_passphrase,
    is_two_step: packet.opening === "two_step",
    starts_at_ms: packet.starts_at_ms,
    cover_url: packet.cover_url,
  };
}

/** The cover as somebody without a token sees it: rules that only the record tells are unknown. */
export function coverOfFeed(feed: Feed): Cover {
  return {
    nickname: feed.sender.nickname,
    avatar_url: feed.sender.avatar_url,
    greeting: feed.greeting,
    kind: feed.kind,
    is_exclusive: false,
    needs_passphrase: false,
    is_two_step: false,
    starts_at_ms: 0,
    cover_url: feed.cover_url,
  };
}

/** Where a viewer stands who opens the page, as of *nowMs*. */
export function stateOf(packet: Packet, nowMs: number): State {
  if (packet.mine) return "opened";
  if (packet.status === "emptied") return "gone";
  if (packet.status !== "open") return packet.remaining_count > 0 ? "expired" : "gone";
  if (packet.expires_at_ms <= nowMs) return "expired";
  if (packet.is_sender) return "sent";
  return packet.starts_at_ms > nowMs ? "waiting" : "ready";
}

/** Where a viewer without a token stands. */
export function stateOfFeed(feed: Feed): State {
  if (feed.status === "open") return "signed_out";
  return feed.remaining_count > 0 ? "expired" : "gone";
}

/** Codes that leave a viewer where they were; a new code belongs here or into a state below. */
type Stays =
  | "account_not_empty"
  | "already_thanked"
  | "amount_too_large"
  | "amount_too_small"
  | "approval_not_found"
  | "attempts_exhausted"
  | "campaign_not_found"
  | "channel_unavailable"
  | "code_invalid"
  | "four_eyes"
  | "help_quota_exhausted"
  | "idempotency_key_in_use"
  | "idempotency_key_missing"
  | "idempotency_key_reused"
  | "insufficient_funds"
  | "internal_error"
  | "invalid_request"
  | "not_cancellable"
  | "offline"
  | "openid_in_use"
  | "passphrase_mismatch"
  | "payee_not_bound"
  | "payload_too_large"
  | "payment_not_found"
  | "proof_not_ready"
  | "rate_limited"
  | "run_not_found"
  | "self_help"
  | "signature_invalid"
  | "split_impossible"
  | "switch_not_found"
  | "switched_off"
  | "unavailable"
  | "unknown"
  | "version_conflict"
  | "webhook_not_found"
  | "withdrawal_limit_reached"
  | "withdrawal_not_found";

/** Where a refusal leads; undefined stays where the viewer was. */
export function stateAfter(code: Code): State | undefined {
  switch (code) {
    case "packet_emptied":
      return "gone";
    case "packet_expired":
    case "campaign_ended":
      return "expired";
    case "packet_not_found":
      return "missing";
    case "packet_not_started":
    case "campaign_not_started":
      return "waiting";
    case "not_invited":
    case "not_in_audience":
    case "quota_exhausted":
    case "campaign_paused":
    case "forbidden":
      return "refused";
    case "unauthorized":
      return "signed_out";
    case "grab_token_invalid":
      return "ready";
    default:
      code satisfies Stays;
      return undefined;
  }
}
