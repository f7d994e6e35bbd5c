/** Random numbers from a seed: 64-bit big-endian words of SHAKE-256 (docs/reference/splits.md). */

import { shake256 } from "@noble/hashes/sha3.js";

export const WORD_BITS = 64n;
export const WORD_MAX = (1n << WORD_BITS) - 1n;
/** Number of random words in one block. A reader can start at any block. */
export const WORDS_PER_BLOCK = 1000;

/** Yields the first *count* words of *seed*. */
export function* seedWords(seed: Uint8Array, count: number): Generator<bigint, undefined> {
  const view = new DataView(shake256(seed, { dkLen: 8 * count }).buffer);
  for (let place = 0; place < count; place++) yield view.getBigUint64(8 * place);
  return undefined;
}

/** Yields the first *count* words of a block, which depend on the seed and the block's number. */
export function wordBlock(seed: Uint8Array, blockNo: number, count: number): Generator<bigint> {
  const named = new Uint8Array(seed.length + 8);
  named.set(seed);
  new DataView(named.buffer).setBigUint64(seed.length, BigInt(blockNo));
  return seedWords(named, count);
}
