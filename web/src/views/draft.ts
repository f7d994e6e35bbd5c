/** What somebody typed into the send form, and the request that it means. */

import type { Schemas } from "../api/client.ts";
import { COUNT_MAX, COVER_PATTERN, FEN_MAX } from "../api/limits.ts";
import { parseYuan } from "../money.ts";

export interface Draft {
  kind: "lucky" | "equal";
  split: string;
  /** The total of a lucky packet, each share of an equal one. */
  amount: string;
  count: string;
  greeting: string;
  life: string;
  passphrase?: string;
  recipients?: string;
  cover?: string;
  pay_with?: string;
}

export function countOf(draft: Draft): number | undefined {
  const text = draft.count.normalize("NFKC").trim();
  const count = /^\d{1,9}$/.test(text) ? Number(text) : 0;
  return count >= 1 && count <= COUNT_MAX ? count : undefined;
}

/** Undefined where amount or count can't be read. */
export function totalFenOf(draft: Draft): number | undefined {
  const fen = parseYuan(draft.amount);
  const count = countOf(draft);
  if (fen === undefined || count === undefined) return undefined;
  const total = draft.kind === "lucky" ? fen : fen * count;
  return total > 0 && total <= FEN_MAX ? total : undefined;
}

/** Whether a picture may be a cover here, by the rule of the API; no picture may. */
export function isCover(url: string, hosts: readonly string[]): boolean {
  if (!url) return true;
  const host = new RegExp(COVER_PATTERN).exec(url)?.[1]?.toLowerCase();
  return host !== undefined && (hosts.includes(host) || hosts.includes(host.replace(/^[^.]*/, "*")));
}

export function bodyOf(
  draft: Draft,
  options: { isTwoStep: boolean; isSealed: boolean; isInWeChat?: boolean },
  defaultGreeting: string,
): Partial<Schemas["SendBody"]> {
  const recipients = (draft.recipients ?? "").split(/\s+/).filter(Boolean);
  const passphrase = draft.passphrase?.trim();
  const cover = draft.cover?.trim();
  return {
    kind: draft.kind,
    total_fen: totalFenOf(draft)!,
    count: countOf(draft)!,
    greeting: draft.greeting.trim() || defaultGreeting,
    opening: options.isTwoStep ? "two_step" : "one_step",
    expires_in_s: Number(draft.life) * 3600,
    ...(draft.kind === "lucky" ? { split: draft.split as NonNullable<Schemas["SendBody"]["split"]> } : {}),
    ...(passphrase ? { passphrase } : {}),
    ...(recipients.length ? { recipients } : {}),
    ...(options.isSealed ? { amounts_shown: "end" as const } : {}),
    ...(cover ? { cover_url: cover } : {}),
    ...(draft.pay_with && draft.pay_with !== "balance"
      ? { pay_with: draft.pay_with as "wechat" | "host" }
      : {}),
    // A phone can't scan its own screen.
    ...(draft.pay_with === "wechat" && options.isInWeChat ? { pay_method: "jsapi" as const } : {}),
  };
}
