from __future__ import annotations

import pytest

from redpacket.adapters.pinyin import PinyinPhrases
from redpacket.domain.passphrase import THRESHOLD_DEFAULT, can_be_said, is_match, normalised
from redpacket.edge import wiring


def _not_asked(said: str, phrase: str) -> int:
    raise AssertionError(f"{said} and {phrase} need no library")


def _matches(said: str, phrase: str, threshold: int = THRESHOLD_DEFAULT) -> bool:
    return is_match(said, phrase, threshold, PinyinPhrases().similarity)


@pytest.mark.parametrize(
    ("text", "heard"),
    [
        ("恭喜发财！", "恭喜发财"),
        (" 恭 喜，发\u3000财 。", "恭喜发财"),
        ("ＨＡＰＰＹ Ｎｅｗ-Year 2027!", "happynewyear2027"),
        ("Straße", "strasse"),
        ("e\u0301tude", "\u00e9tude"),
        ("🧧🧧", ""),
        ("", ""),
    ],
)
def test_only_what_can_be_heard_is_compared(text: str, heard: str) -> None:
    assert normalised(text) == heard
    assert can_be_said(text) == bool(heard)


@pytest.mark.parametrize(
    ("said", "phrase"),
    [("恭喜，发财！", "恭喜发财"), ("happy new YEAR", "Happy New Year"), ("８８８", "888")],
)
def test_what_is_said_as_it_was_written_needs_no_library(said: str, phrase: str) -> None:
    assert is_match(said, phrase, 100, _not_asked)


@pytest.mark.parametrize("nothing", ["", " ", "！？", "🧧"])
def test_silence_matches_nothing_not_even_silence(nothing: str) -> None:
    assert not is_match(nothing, "恭喜发财", 0, _not_asked)
    assert not is_match("恭喜发财", nothing, 0, _not_asked)
    assert not is_match(nothing, nothing, 0, _not_asked)


@pytest.mark.parametrize(
    ("said", "phrase"),
    [
        ("恭禧发才", "恭喜发财"),
        ("公西发菜", "恭喜发财"),
        ("恭喜發財", "恭喜发财"),
        ("恭喜发柴", "恭喜发财"),  # a retroflex that was not meant
        ("gong xi fa cai", "恭喜发财"),
        ("新年快乐呀", "新年快乐"),
        ("马道成功", "马到成功"),
        ("happy new yeer", "Happy New Year"),
    ],
)
def test_what_sounds_alike_passes(said: str, phrase: str) -> None:
    assert _matches(said, phrase)


@pytest.mark.parametrize(
    ("said", "phrase"),
    [
        ("新年快乐", "恭喜发财"),
        ("万事如意", "恭喜发财"),
        ("恭喜", "恭喜发财"),
        ("大吉大利", "万事大吉"),
        ("happy birthday", "Happy New Year"),
        ("新年快乐恭喜发财万事如意", "恭喜发财"),
        ("我想说恭喜发财红包拿来", "恭喜发财"),
    ],
)
def test_another_phrase_or_a_long_transcript_does_not_pass(said: str, phrase: str) -> None:
    assert not _matches(said, phrase)


def test_a_phrase_below_the_threshold_by_less_than_one_does_not_pass() -> None:
    # 7 of 8 letters of either: 87.5.
    assert PinyinPhrases().similarity("abcdefgh", "abcdefgx") == 87
    assert _matches("abcdefgh", "abcdefgx", 87)
    assert not _matches("abcdefgh", "abcdefgx", 88)


def test_the_wiring_compares_by_sound() -> None:
    assert wiring.phrases().similarity("恭禧发才", "恭喜发财") == 100
