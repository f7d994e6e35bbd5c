/** Terms of a packet, which determine its amounts, and the commitment to them. */

import { sha256 } from "@noble/hashes/sha2.js";

export const SPLITS = [
  "equal",
  "double_mean",
  "double_mean_live",
  "base_double_mean",
  "bell",
  "cut_points",
] as const;
export type Split = (typeof SPLITS)[number];

export interface Terms {
  split: Split;
  total_fen: number;
  count: number;
  share_fen_min: number;
  share_fen_max: number;
  unit_fen: number;
  /** 16 bytes in base64url without padding. */
  seed: string;
}

/** Terms in units of `unit_fen`, the input of the algorithms. */
export interface Units {
  total: bigint;
  count: number;
  low: bigint;
  high: bigint;
}

/** Thrown for terms that no packet can have. */
export class Impossible extends Error {}

/** Returns the text whose hash is the commitment. */
export function canonical(terms: Terms): string {
  const { split, total_fen, count, share_fen_min, share_fen_max, unit_fen, seed } = terms;
  return ["rp1", split, total_fen, count, share_fen_min, share_fen_max, unit_fen, seed].join(",");
}

/** Returns the SHA-256 of a string, in hex. */
export function hashText(text: string): string {
  return hex(sha256(new TextEncoder().encode(text)));
}

export function commitmentOf(terms: Terms): string {
  return hashText(canonical(terms));
}

/** Decodes a base64url seed. Throws Impossible for any other string. */
export function seedBytes(text: string): Uint8Array {
  if (!/^[A-Za-z0-9_-]{22}$/.test(text)) throw new Impossible("seed");
  const plain = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
  return Uint8Array.from(plain, (character) => character.charCodeAt(0));
}

export function hex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

export function bytesOf(text: string): Uint8Array {
  return Uint8Array.from(text.match(/../g) ?? [], (pair) => parseInt(pair, 16));
}

/** Returns *terms* in units. Throws Impossible if no shares can satisfy them. */
export function unitsOf(terms: Terms): Units {
  const numbers = [terms.total_fen, terms.count, terms.share_fen_min, terms.share_fen_max];
  if (![...numbers, terms.unit_fen].every((value) => Number.isSafeInteger(value) && value >= 1)) {
    throw new Impossible("numbers");
  }
  const unit = BigInt(terms.unit_fen);
  const units: Units = {
    total: BigInt(terms.total_fen) / unit,
    count: terms.count,
    low: (BigInt(terms.share_fen_min) + unit - 1n) / unit,
    high: BigInt(terms.share_fen_max) / unit,
  };
  const count = BigInt(terms.count);
  const fits =
    BigInt(terms.total_fen) % unit === 0n &&
    units.low <= units.high &&
    count * units.low <= units.total &&
    units.total <= count * units.high &&
    (terms.split !== "equal" || units.total % count === 0n);
  if (!fits) throw new Impossible("bounds");
  return units;
}
