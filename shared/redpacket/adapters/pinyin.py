"""How alike two phrases are, as they are written and as they sound (拼音)."""

from __future__ import annotations


class PinyinPhrases:
    """Implements Phrases."""

    def similarity(self, said: str, phrase: str) -> int:
        # Imported here: together they cost 0.2 s, and most passphrases are typed as they are.
        from pypinyin import lazy_pinyin
        from rapidfuzz.fuzz import ratio

        # Whole against whole: a part of a long transcript must not do. In one word, so that pinyin
        # that was typed (gongxifacai) is as good. Rounded down: 79.9 is not 80.
        written = ratio(said, phrase)
        spoken = ratio("".join(lazy_pinyin(said)), "".join(lazy_pinyin(phrase)))
        return int(max(written, spoken))
