/** Money is integer fen; text becomes fen without a float on the way. */

import { FEN_MAX } from "./api/limits.ts";

/** Reads yuan as people type them ("88.8", "８８．８０", "1,000"); undefined for anything else. */
export function parseYuan(text: string): number | undefined {
  const plain = text.normalize("NFKC").replace(/[\s,¥￥元]/g, "").replace("。", ".");
  const match = /^(\d{1,10})(?:\.(\d{0,2}))?$/.exec(plain);
  if (!match) return undefined;
  const fen = Number(match[1]! + (match[2] ?? "").padEnd(2, "0"));
  return fen <= FEN_MAX ? fen : undefined;
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
