/** Money is integer minor units, which the API calls fen; text becomes such a number without a float on the way. */

import { FEN_MAX } from "./api/limits.ts";
import { speakOfMoney, written } from "./i18n/language.ts";

/** Unit of account of a deployment; one of its own units is 10^decimals of the API's. */
export interface Unit {
  name: string;
  symbol: string;
  decimals: number;
}

const YUAN: Unit = { name: "CNY", symbol: "¥", decimals: 2 };
let unit = YUAN;

/** Sets the unit of all that follows, by default yuan. Returns the unit before. */
export function useUnit(found: Unit = YUAN): Unit {
  const before = unit;
  unit = found;
  speakOfMoney(unit.name === "CNY");
  return before;
}

/** Renders one element in *found*, if it has a unit of its own. */
export function inUnit<Made>(found: Unit | undefined, render: () => Made): Made {
  const before = useUnit(found ?? unit);
  try {
    return render();
  } finally {
    useUnit(before);
  }
}

const PLAIN = /^(\d+)()(?:[.,](\d\d?))?$/;
/** Groups of three by one separator. A single group after a point may also be a fraction. */
const GROUPED = /^(?!\d+\.\d+$)([1-9]\d{0,2}([,. '])\d{3}(?:\2\d{3})*)(?:(?!\2)[.,](\d\d?))?$/;

/** The texts before and after a number: a symbol that ends with a letter follows it. */
export function affixes(symbol = unit.symbol): [before: string, after: string] {
  return /\p{L}$/u.test(symbol) ? ["", ` ${symbol}`] : [symbol, ""];
}

/** The unit in a sentence or label: its symbol, but 元 in Chinese. */
export function unitWord(): string {
  return unit.name === "CNY" && written() === "zh-CN" ? "元" : unit.symbol;
}

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
 * Reads an amount by a grammar (tests/vectors/amounts.json); undefined for anything else, and for what may mean two sums.
 *
 * Digits, also in groups of three by one separator, then a point or comma and at most the unit's decimals.
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

/** Word for a typed amount that can't be sent: none is there, or it can't be read. */
export function amountProblem(text: string): "bad_amount" | "unread_amount" | undefined {
  const fen = parseAmount(text);
  if (fen) return undefined;
  return fen === 0 || !text.trim() ? "bad_amount" : "unread_amount";
}

/** 8888 -> "88.88"; always the unit's decimals, a minus where the amount has one. */
export function digits(fen: number): string {
  const { decimals } = unit;
  const all = String(Math.abs(fen)).padStart(decimals + 1, "0");
  const cents = decimals ? `.${all.slice(-decimals)}` : "";
  return `${fen < 0 ? "-" : ""}${all.slice(0, all.length - decimals)}${cents}`;
}

/** Formats like `grouped`, without a fraction of zero: 2000000 -> "20,000". */
export function briefDigits(fen: number): string {
  return grouped(fen).replace(/\.0+$/, "");
}

/** Formats like `digits`, with thousands apart. */
export function grouped(fen: number): string {
  return digits(fen).replace(/\B(?=(\d{3})+(?!\d))/g, ",");
}

/** An amount with the unit's symbol, in lists: "¥1,234.56". */
export function money(fen: number): string {
  return `${fen < 0 ? "-" : ""}${affixes().join(grouped(Math.abs(fen)))}`;
}

/** An amount in a sentence, "1,234.56 元" in Chinese; *number* replaces its digits. */
export function spoken(fen: number, number = grouped(fen)): string {
  return affixes(unitWord()).join(number);
}
