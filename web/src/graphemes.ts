/** Characters as readers count them. A joined emoji counts as one. */

const segmenter = "Segmenter" in Intl ? new Intl.Segmenter() : undefined;
/** Approximation for browsers without a segmenter: a flag's two halves, or a character with its modifiers. */
const CLUSTER = /\p{RI}\p{RI}|[^](?:\u200d[^]?|[\p{M}\p{EMod}\u200c\u{e0020}-\u{e007f}])*/gu;

export function graphemes(text: string): string[] {
  if (segmenter) return Array.from(segmenter.segment(text), ({ segment }) => segment);
  return text.match(CLUSTER) ?? [];
}
