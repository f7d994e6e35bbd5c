/** Letters as readers count them: an emoji that is joined of several is one. */

const segmenter = "Segmenter" in Intl ? new Intl.Segmenter() : undefined;
/** Nearly the same for browsers without a segmenter: two halves of a flag, or one letter and what modifies it. */
const CLUSTER = /\p{RI}\p{RI}|[^](?:\u200d[^]?|[\p{M}\p{EMod}\u200c\u{e0020}-\u{e007f}])*/gu;

export function graphemes(text: string): string[] {
  if (segmenter) return Array.from(segmenter.segment(text), ({ segment }) => segment);
  return text.match(CLUSTER) ?? [];
}
