/** Money as integer minor units, which the API calls fen. Parsing and formatting use no floats. */

import { FEN_MAX } from "./api/limits.ts";
import { speakOfMoney, written } from "./i18n/language.ts";

/** Unit of account of a deployment. One unit is 10^decimals of the API's minor units. */
export interface Unit {
  name: string;
  symbol: string;
  decimals: number;
}

const YUAN: Unit = { name: "CNY", symbol: "¥", decimals: 2 };
let unit = YUAN;

/** Sets the unit of all later amounts, by default yuan. Returns the previous unit. */
export function useUnit(found: Unit = YUAN): Unit {
  const before = unit;
  unit = found;
  speakOfMoney(unit.name === "CNY");
  return before;
}

/** Calls *render* with *found* as the unit, or with the current unit if *found* is undefined. */
export function inUnit<Made>(found: Unit | undefined, render: () => Made): Made {
  const before = useUnit(found ?? unit);
  try {
    return render();
  } finally {
    useUnit(before);
  }
}

const PLAIN = /^(\d+)()(?:[.,](\d\d?))?$/;
/** Groups of three digits with one separator. A single group after a point is excluded, because it may be a fraction. */
const GROUPED = /^(?!\d+\.\d+$)([1-9]\d{0,2}([,. '])\d{3}(?:\2\d{3})*)(?:(?!\2)[.,](\d\d?))?$/;

/** Returns the strings before and after a number. A symbol that ends with a letter follows the number. */
export function affixes(symbol = unit.symbol): [before: string, after: string] {
  return /\p{L}$/u.test(symbol) ? ["", ` ${symbol}`] : [symbol, ""];
}

/** Returns the unit for a sentence or label: its symbol, but 元 for yuan in Chinese. */
export function unitWord(): string {
  return unit.name === "CNY" && written() === "zh-CN" ? "元" : unit.symbol;
}

/** Returns *text* with ASCII digits and separators, the form that errors quote. */
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
 * Parses an amount (tests/vectors/amounts.json). Returns undefined if *text* is invalid or ambiguous.
 *
 * Grammar: digits, optionally in groups of three with one separator, then optionally a point or comma and decimals.
 */
export function parseAmount(text: string): number | undefined {
  const number = withoutSymbol(plainAmount(text));
  const [, whole, , cents = ""] = PLAIN.exec(number) ?? GROUPED.exec(number) ?? [];
  if (!whole || cents.length > unit.decimals) return undefined;
  const fen = Number(whole.replace(/\D/g, "") + cents.padEnd(unit.decimals, "0"));
  return fen <= FEN_MAX ? fen : undefined;
}

function withoutSymbol(text: string): string {
  for (const symbol of unit.name === "CNY" ? ["¥", "￥", "元"] : [unit.symbol]) {
    const [before, after] = affixes(symbol);
    if (before && text.startsWith(before)) return text.slice(before.length).replace(/^ /, "");
    if (after && text.endsWith(symbol)) return text.slice(0, -symbol.length).replace(/ $/, "");
  }
  return text;
}

/** Returns the key of the message that says why an amount in *text* can't be sent, or undefined if it can. */
export function amountProblem(text: string): "bad_amount" | "unread_amount" | undefined {
  const fen = parseAmount(text);
  if (fen) return undefined;
  return fen === 0 || !text.trim() ? "bad_amount" : "unread_amount";
}

/** 8888 -> "88.88", always with all decimals of the unit. A negative amount has a minus sign. */
export function digits(fen: number): string {
  const { decimals } = unit;
  const all = String(Math.abs(fen)).padStart(decimals + 1, "0");
  const cents = decimals ? `.${all.slice(-decimals)}` : "";
  return `${fen < 0 ? "-" : ""}${all.slice(0, all.length - decimals)}${cents}`;
}

/** Formats like `grouped`, but omits a fraction of zero: 2000000 -> "20,000". */
export function briefDigits(fen: number): string {
  return grouped(fen).replace(/\.0+$/, "");
}

/** Formats like `digits`, with thousands separators. */
export function grouped(fen: number): string {
  return digits(fen).replace(/\B(?=(\d{3})+(?!\d))/g, ",");
}

/** Formats an amount with the unit's symbol, for lists: "¥1,234.56". */
export function money(fen: number): string {
  return `${fen < 0 ? "-" : ""}${affixes().join(grouped(Math.abs(fen)))}`;
}

/** Formats an amount for a sentence, "1,234.56 元" in Chinese. *number* replaces the digits. */
export function spoken(fen: number, number = grouped(fen)): string {
  return affixes(unitWord()).join(number);
}
