/** Money is integer fen; text becomes fen without a float on the way. */

import { FEN_MAX } from "./api/limits.ts";

const PLAIN = /^(\d+)()(?:[.,](\d\d?))?$/;
/** Groups of three by one separator. A single group after a point may also be a fraction. */
const GROUPED = /^(?!\d+\.\d+$)([1-9]\d{0,2}([,. '])\d{3}(?:\2\d{3})*)(?:(?!\2)[.,](\d\d?))?$/;

/** An amount with the digits and separators of the grammar, as an error quotes it. */
export function plainAmount(text: string): string {
  return text
    .replace(/[０-９٠-٩۰-۹]/g, (digit) => String(digit.charCodeAt(0) & 15))
    .replaceAll("，", ",")
    .replace(/[．。｡٫]/g, ".")
    .replace(/[’٬]/g, "'")
    .replace(/[\u00a0\u202f]/g, " ")
    .trim();
}

/**
 * Reads yuan by a grammar (tests/vectors/amounts.json); undefined for anything else, and for what may mean two sums.
 *
 * Digits, also in groups of three by one separator, then a point or comma and one or two digits.
 */
export function parseYuan(text: string): number | undefined {
  const number = plainAmount(text).replace(/^[¥￥] ?| ?元$/g, "");
  const [, whole, , cents = ""] = PLAIN.exec(number) ?? GROUPED.exec(number) ?? [];
  if (!whole) return undefined;
  const fen = Number(whole.replace(/\D/g, "") + cents.padEnd(2, "0"));
  return fen <= FEN_MAX ? fen : undefined;
}

/** Word for a typed amount that can't be sent: none is there, or it can't be read. */
export function amountProblem(text: string): "bad_amount" | "unread_amount" | undefined {
  const fen = parseYuan(text);
  if (fen) return undefined;
  return fen === 0 || !text.trim() ? "bad_amount" : "unread_amount";
}

/** 8888 -> "88.88"; always two decimals, a minus where the amount has one. */
export function yuan(fen: number): string {
  const digits = String(Math.abs(fen)).padStart(3, "0");
  return `${fen < 0 ? "-" : ""}${digits.slice(0, -2)}.${digits.slice(-2)}`;
}

/** Formats sums like `yuan`, with thousands apart. */
export function yuanGrouped(fen: number): string {
  return yuan(fen).replace(/\B(?=(\d{3})+\.)/g, ",");
}
