/** States of a packet for one viewer, and the next state after an answer. */

import type { Schemas } from "../api/client.ts";
import { STATES_AFTER } from "../api/limits.ts";
import type { Code } from "../api/problems.ts";
import { leastNow } from "../now.ts";

export type Claim = Pick<Schemas["Claim"], "amount_fen" | "share_no" | "claimed_at_ms" | "payout">;
export type Thanks = Schemas["ThanksBody"];
export type Emoji = NonNullable<Thanks["emoji"]>;
export type Feed = Schemas["Feed"];
export type Packet = Schemas["Record"];

/** Facts about the cover, from the feed or from the viewer's own record. */
export interface Cover {
  nickname: string;
  avatar_url: string | null;
  greeting: string;
  kind: "equal" | "lucky";
  is_exclusive: boolean;
  needs_passphrase: boolean;
  is_two_step: boolean;
  starts_at_ms: number;
  /** URL of a picture on the page's own host or on one that the deployment allows. */
  cover_url: string | null;
}

export type State =
  | "loading" // nothing is known yet
  | "signed_out" // the cover is visible, but can't be opened
  | "waiting" // before the packet's start
  | "ready" // one tap away
  | "opening" // the request is in flight, and the coin spins
  | "confirming" // the outcome is unknown, and the request is retried
  | "admitted" // the first of two steps is done
  | "opened" // the viewer has a share
  | "watching" // the viewer sees the list without opening; senders start here
  | "gone" // emptied
  | "expired"
  | "refused" // the viewer may not open the packet, at least not now
  | "missing";

/** Whether the contents are shown instead of the cover. */
export function isOpen(state: State): boolean {
  return ["opened", "watching", "gone", "expired"].includes(state);
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

/** Returns the cover for a visitor without a token. Rules that only the record contains are unknown. */
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

/** Returns the viewer's thanks that the API has stored. */
export function thanksOf({ mine }: Packet): Thanks | undefined {
  if (!mine?.thanks && !mine?.thanks_text) return undefined;
  return { emoji: mine.thanks as Emoji | null, text: mine.thanks_text };
}

/** Returns whether no more shares can be claimed. An unpaid packet may still open. */
export function isOver({ status }: Pick<Feed, "status">): boolean {
  return status !== "open" && status !== "unpaid";
}

/**
 * Returns the state for a viewer who opens the page at *nowMs*.
 *
 * A packet is over if the API says so or its end has certainly passed. The sweep closes it up to a minute later.
 */
export function stateOf(packet: Packet, nowMs: number, leastMs = leastNow()): State {
  if (packet.mine) return "opened";
  if (packet.status === "emptied") return "gone";
  if (isOver(packet)) return packet.remaining_count > 0 ? "expired" : "gone";
  if (packet.expires_at_ms <= leastMs) return "expired";
  if (packet.is_sender) return "watching";
  return packet.starts_at_ms > nowMs ? "waiting" : "ready";
}

/** Returns the state for a viewer without a token. */
export function stateOfFeed(feed: Feed): State {
  if (!isOver(feed)) return "signed_out";
  return feed.remaining_count > 0 ? "expired" : "gone";
}

const PAGE_STATES: Partial<Record<Code, State>> = { ...STATES_AFTER, unauthorized: "signed_out" };

/** Returns the state after a refusal, or undefined if another attempt may succeed. */
export function stateAfter(code: Code): State | undefined {
  return PAGE_STATES[code];
}
