/** All split algorithms, as specified in docs/reference/splits.md. BigInt avoids rounding. */

import { seedBytes, unitsOf, type Split, type Terms, type Units } from "./terms.ts";
import { seedWords, wordBlock, WORD_BITS, WORD_MAX, WORDS_PER_BLOCK } from "./words.ts";

type Words = Iterator<bigint, unknown>;

/** Returns all amounts of a packet in fen, ordered by share number. Throws Impossible for invalid terms. */
export function amountsFen(terms: Terms): number[] {
  const units = unitsOf(terms);
  const amounts = inUnits(terms.split, units, seedBytes(terms.seed));
  return amounts.map((amount) => Number(amount) * terms.unit_fen);
}

function inUnits(split: Split, units: Units, seed: Uint8Array): bigint[] {
  if (split === "equal") {
    return new Array<bigint>(units.count).fill(units.total / BigInt(units.count));
  }
  if (split === "double_mean_live") return live(units, seed);
  const [wordsPerShare, draw] = DRAWS[split];
  const words = seedWords(seed, wordsPerShare * units.count);
  return shuffled(draw(units, words), words);
}

const next = (words: Words): bigint => {
  const word = words.next();
  if (word.done) throw new Error("a split takes no more words than it was given");
  return word.value;
};
const least = (a: bigint, b: bigint) => (a < b ? a : b);
const most = (a: bigint, b: bigint) => (a > b ? a : b);

/** Shuffles by Fisher-Yates, from the end. */
function shuffled(amounts: bigint[], words: Words): bigint[] {
  for (let last = amounts.length - 1; last > 0; last--) {
    const other = Number((next(words) * BigInt(last + 1)) >> WORD_BITS);
    [amounts[last], amounts[other]] = [amounts[other]!, amounts[last]!];
  }
  return amounts;
}

/** Returns the bounds of a share's amount above the minimum, if *left* remains and *later* shares follow. */
function range(left: bigint, later: bigint, high: bigint, twice: bigint): [bigint, bigint] {
  const from = most(left - high * later, 0n);
  return [from, least(least(most(from, twice), left), high)];
}

function doubleMean(units: Units, words: Words): bigint[] {
  const high = units.high - units.low;
  let left = units.total - units.low * BigInt(units.count);
  const amounts: bigint[] = [];
  for (let count = BigInt(units.count); count > 0n; count--) {
    const [from, to] = range(left, count - 1n, high, (2n * left) / count);
    const rest = from + ((next(words) * (to - from + 1n)) >> WORD_BITS);
    amounts.push(units.low + rest);
    left -= rest;
  }
  return amounts;
}

function baseDoubleMean(units: Units, words: Words): bigint[] {
  const base = units.total / BigInt(units.count + 1);
  return doubleMean({ ...units, low: most(base, units.low) }, words);
}

/** Returns the integer square root. */
export function root(square: bigint): bigint {
  if (square < 2n) return square;
  let guess = BigInt(Math.floor(Math.sqrt(Number(square)))) + 1n;
  while (guess * guess > square) guess = (guess + square / guess) / 2n;
  while ((guess + 1n) * (guess + 1n) <= square) guess++;
  return guess;
}

function bell(units: Units, words: Words): bigint[] {
  const count = BigInt(units.count);
  const lower = units.total - count * units.low;
  const upper = count * units.high - units.total;
  const amounts: bigint[] = [];
  for (let place = 0n; place < count; place++) {
    const side = (next(words) * (lower + upper)) >> WORD_BITS;
    const depth = root(next(words));
    const part = (width: bigint) => (((depth * 2n * width) / count >> 32n) + 1n) >> 1n;
    amounts.push(side < upper ? units.low + part(lower) : units.high - part(upper));
  }
  return repaired(amounts, units);
}

function cutPoints(units: Units, words: Words): bigint[] {
  const rest = units.low - 1n;
  const length = units.total - BigInt(units.count) * rest;
  const places = new Set<bigint>();
  for (let last = length - BigInt(units.count) + 1n; last < length; last++) {
    const place = 1n + ((next(words) * last) >> WORD_BITS);
    places.add(places.has(place) ? last : place);
  }
  const ends = [...places].sort((a, b) => (a < b ? -1 : 1));
  ends.push(length);
  let start = 0n;
  const amounts = ends.map((end) => {
    const piece = end - start + rest;
    start = end;
    return least(units.high, piece);
  });
  return repaired(amounts, units);
}

/** Adjusts each share in proportion to its remaining room, so that the sum is right. */
function repaired(amounts: bigint[], units: Units): bigint[] {
  const sum = amounts.reduce((all, amount) => all + amount, 0n);
  const missing = units.total - sum;
  if (missing === 0n) return amounts;
  const up = missing > 0n;
  const roomOf = (amount: bigint) => (up ? units.high - amount : amount - units.low);
  const all = amounts.reduce((room, amount) => room + roomOf(amount), 0n);
  let room = 0n;
  let moved = 0n;
  return amounts.map((amount) => {
    room += roomOf(amount);
    const reached = (room * (up ? missing : -missing)) / all;
    const step = reached - moved;
    moved = reached;
    return up ? amount + step : amount - step;
  });
}

function live(units: Units, seed: Uint8Array): bigint[] {
  const high = units.high - units.low;
  let left = units.total - units.low * BigInt(units.count);
  const amounts: bigint[] = [];
  for (let start = 0; start < units.count; start += WORDS_PER_BLOCK) {
    const inBlock = Math.min(units.count - start, WORDS_PER_BLOCK);
    for (const word of wordBlock(seed, start / WORDS_PER_BLOCK, inBlock)) {
      const count = BigInt(units.count - amounts.length);
      // Draw the value that is nearer to its bound: the share above the minimum, or the room below the cap.
      const room = high * count - left;
      const nearest = least(room, left);
      const scaled = word * count;
      const roundsUp = scaled >> WORD_BITS < (2n * nearest) % count;
      const twice = (2n * nearest) / count + (roundsUp ? 1n : 0n);
      const product = ((scaled & WORD_MAX) * (twice + 1n)) >> WORD_BITS;
      const rest = count === 1n ? left : room < left ? high - product : product;
      amounts.push(units.low + rest);
      left -= rest;
    }
  }
  return amounts;
}

/** Number of random words per share, including one for the shuffle, and the algorithm. */
const DRAWS: Record<
  Exclude<Split, "equal" | "double_mean_live">,
  [number, (units: Units, words: Words) => bigint[]]
> = {
  double_mean: [2, doubleMean],
  base_double_mean: [2, baseDoubleMean],
  bell: [3, bell],
  cut_points: [2, cutPoints],
};
