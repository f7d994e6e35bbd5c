import assert from "node:assert/strict";
import test from "node:test";

/** Strings, split into the characters that a reader sees. */
const CASES: string[][] = [
  [],
  ["恭", "喜"],
  ["🇨🇳", "中"],
  ["👍🏽", "好"],
  ["1️⃣", "号"],
  ["👨‍👩‍👧‍👦", "❤️‍🔥", "🏳️‍🌈", "🐻‍❄️"],
  ["🏴󠁧󠁢󠁥󠁮󠁧󠁿", "!"],
  ["e\u0301", "n\u0303"],
  ["𠮷", "野"],
];

for (const has of [true, false]) {
  test(`a string is cut between characters ${has ? "with" : "without"} a segmenter`, async (context) => {
    if (!has) {
      const { Segmenter } = Intl;
      Reflect.deleteProperty(Intl, "Segmenter");
      context.after(() => Object.assign(Intl, { Segmenter }));
    }
    const { graphemes } = (await import(`../src/graphemes.ts?${has}`)) as typeof import("../src/graphemes.ts");

    for (const letters of CASES) assert.deepEqual(graphemes(letters.join("")), letters);
  });
}
