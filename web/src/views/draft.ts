/** Values in the send form, and the request body made from them. */

import type { Schemas } from "../api/client.ts";
import { COUNT_MAX, COVER_PATTERN, FEN_MAX } from "../api/limits.ts";
import type { Channel } from "../config.ts";
import { amountProblem, parseAmount } from "../money.ts";
import { now } from "../now.ts";

export interface Draft {
  kind: "lucky" | "equal";
  split: string;
  /** Total of a lucky packet, or the amount of each share of an equal packet. */
  amount: string;
  count: string;
  greeting: string;
  life: string;
  /** Local date and time of the start. Empty means now. */
  starts?: string;
  /** Anyone with the link, the first user who opens the link, or the chosen users. */
  audience: "all" | "one" | "some";
  /** Tokens of users chosen from a list. */
  people: string[];
  /** User tokens that the sender entered. */
  recipients?: string;
  passphrase?: string;
  two_step?: string;
  sealed?: string;
  /** Path of a gallery picture or an uploaded picture. */
  cover?: string;
  /** URL of a picture on another host. It takes precedence. */
  cover_link?: string;
  pay_with?: string;
}

export const EMPTY: Draft = {
  kind: "lucky",
  split: "double_mean",
  amount: "",
  count: "",
  greeting: "",
  life: "24",
  audience: "all",
  people: [],
};

/** Reads a form as a draft. */
export function draftOf(form: HTMLFormElement): Draft {
  const data = new FormData(form);
  const fields = Object.fromEntries(data) as Partial<Draft>;
  return { ...EMPTY, ...fields, people: data.getAll("people") as string[] };
}

export function countOf(draft: Draft): number | undefined {
  // The first user who opens the link gets the only share.
  if (draft.audience === "one") return 1;
  const text = draft.count.normalize("NFKC").trim();
  const count = /^\d{1,9}$/.test(text) ? Number(text) : 0;
  return count >= 1 && count <= COUNT_MAX ? count : undefined;
}

/** Returns the total in fen, or undefined if the amount or count is invalid or the total is too large. */
export function totalFenOf(draft: Draft): number | undefined {
  const fen = parseAmount(draft.amount);
  const count = countOf(draft);
  if (fen === undefined || count === undefined) return undefined;
  const total = draft.kind === "lucky" ? fen : fen * count;
  return total > 0 && total <= FEN_MAX ? total : undefined;
}

export function recipientsOf(draft: Draft): string[] {
  if (draft.audience !== "some") return [];
  const pasted = (draft.recipients ?? "").replace(/\p{Cf}/gu, "").split(/\s+/);
  return [...new Set([...draft.people, ...pasted.filter(Boolean)])];
}

/** Maximum time in ms from now to the start. */
const AHEAD_MAX_MS = 30 * 86_400_000;

export type Wrong =
  | ("bad_amount" | "unread_amount" | "bad_count" | "bad_cover" | "bad_start")
  | ("no_people" | "too_small" | "too_large");

/** Returns the first error of each field. Called while the user types. */
export function wrongOf(draft: Draft, shareFenMax: number, hosts: readonly string[], nowMs = now()) {
  const wrong: Partial<Record<"amount" | "count" | "cover_link" | "people" | "starts", Wrong>> = {};
  const count = countOf(draft);
  const fen = parseAmount(draft.amount);
  if (!count) wrong.count = "bad_count";
  if (!fen) wrong.amount = amountProblem(draft.amount)!;
  else if (count && !totalFenOf(draft)) wrong.amount = "bad_amount";
  else if (fen > shareFenMax * (draft.kind === "lucky" ? (count ?? 1) : 1)) wrong.amount = "too_large";
  else if (draft.kind === "lucky" && count && fen < count) wrong.amount = "too_small";
  if (draft.audience === "some" && recipientsOf(draft).length === 0) wrong.people = "no_people";
  if (!isCover(draft.cover_link?.trim() ?? "", hosts)) wrong.cover_link = "bad_cover";
  if (draft.starts && new Date(draft.starts).getTime() > nowMs + AHEAD_MAX_MS) wrong.starts = "bad_start";
  return wrong;
}

/** Returns whether the API accepts *url* as a cover. An empty URL is valid. */
export function isCover(url: string, hosts: readonly string[]): boolean {
  if (!url) return true;
  const host = new RegExp(COVER_PATTERN).exec(url)?.[1]?.toLowerCase();
  return host !== undefined && (hosts.includes(host) || hosts.includes(host.replace(/^[^.]*/, "*")));
}

export function bodyOf(
  draft: Draft,
  defaultGreeting: string,
  method: "jsapi" | "native" = "native",
): Partial<Schemas["SendBody"]> {
  const recipients = recipientsOf(draft);
  const passphrase = draft.passphrase?.trim();
  const cover = draft.cover_link?.trim() || draft.cover;
  return {
    kind: draft.kind,
    total_fen: totalFenOf(draft)!,
    count: countOf(draft)!,
    greeting: draft.greeting.trim() || defaultGreeting,
    opening: draft.two_step ? "two_step" : "one_step",
    expires_in_s: Number(draft.life) * 3600,
    ...(draft.starts ? { starts_at_ms: new Date(draft.starts).getTime() } : {}),
    ...(draft.kind === "lucky" ? { split: draft.split as NonNullable<Schemas["SendBody"]["split"]> } : {}),
    ...(passphrase ? { passphrase } : {}),
    ...(recipients.length ? { recipients } : {}),
    ...(draft.sealed ? { amounts_shown: "end" as const } : {}),
    ...(cover ? { cover_url: cover } : {}),
    ...(draft.pay_with && draft.pay_with !== "balance"
      ? { pay_with: draft.pay_with as Channel, ...(method === "jsapi" ? { pay_method: method } : {}) }
      : {}),
  };
}
