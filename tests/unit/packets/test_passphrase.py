import pytest

from redpacket.containers import containers
from redpacket.packets.model import passphrase
from redpacket.packets.pinyin import similarity, simplified
from redpacket.platform.text import audible


def _not_asked(spoken: str, phrase: str) -> int:
    raise AssertionError(f"{spoken} and {phrase} need no library")


def _is_exact(entered: str, phrase: str) -> bool:
    return passphrase.is_exact(entered, phrase, simplified)


def _matches(spoken: str, phrase: str, threshold: int = passphrase.THRESHOLD_DEFAULT) -> bool:
    return _is_exact(spoken, phrase) or passphrase.is_alike(spoken, phrase, threshold, similarity)


def test_only_audible_characters_are_compared() -> None:
    heard = {
        "恭喜发财！": "恭喜发财",
        " 恭 喜，发\u3000财 。": "恭喜发财",
        "ＨＡＰＰＹ Ｎｅｗ-Year 2027!": "happynewyear2027",
        "Straße": "strasse",
        "e\u0301tude": "\u00e9tude",
        "🧧🧧": "",
        "": "",
    }
    assert {text: audible(text) for text in heard} == heard
    passphrases = {"恭喜，发财！": "恭喜发财", "happy new YEAR": "Happy New Year", "８８８": "888"}
    assert all(_is_exact(*pair) for pair in passphrases.items())


@pytest.mark.parametrize(
    ("entered", "phrase"),
    [
        *[("發財", "发财"), ("紅包來", "红包来"), ("後天皇后", "后天皇后"), ("乾坤", "乾坤")],
        *[("八八八八", "8888"), ("五二零", "520"), ("五二〇", "520"), ("١٢٣", "123")],
        *[("二零二七新年好", "2027新年好"), ("8848發", "八八四八发")],
    ],
)
def test_a_phrase_is_equal_in_other_characters_and_digits(entered: str, phrase: str) -> None:
    assert _is_exact(entered, phrase)
    assert _is_exact(phrase, entered)


def test_a_phrase_with_a_numeral_can_sound_alike() -> None:
    assert not _is_exact("恭禧发财一路发", "恭喜发财一路发")
    assert _matches("恭禧发财一路发", "恭喜发财一路发")


@pytest.mark.parametrize("nothing", ["", " ", "！？", "🧧"])
def test_silence_matches_nothing(nothing: str) -> None:
    for spoken, phrase in ((nothing, "恭喜发财"), ("恭喜发财", nothing), (nothing, nothing)):
        assert not _is_exact(spoken, phrase)
        assert not passphrase.is_alike(spoken, phrase, 0, _not_asked)


ALIKE = [
    ("恭禧发才", "恭喜发财"),
    ("公西发菜", "恭喜发财"),
    ("恭喜發財", "恭喜发财"),
    ("恭喜发柴", "恭喜发财"),  # Typed with a retroflex: chai instead of cai.
    ("gong xi fa cai", "恭喜发财"),
    ("新年快乐呀", "新年快乐"),
    ("马道成功", "马到成功"),
    ("happy new yeer", "Happy New Year"),
]
OTHERS = [
    ("新年快乐", "恭喜发财"),
    ("万事如意", "恭喜发财"),
    ("恭喜", "恭喜发财"),
    ("大吉大利", "万事大吉"),
    ("happy birthday", "Happy New Year"),
    ("新年快乐恭喜发财万事如意", "恭喜发财"),
    ("我想说恭喜发财红包拿来", "恭喜发财"),
]


def test_a_phrase_with_similar_sounds_passes_but_another_or_a_long_transcript_does_not() -> None:
    assert [pair for pair in ALIKE if not _matches(*pair)] == []
    assert [pair for pair in OTHERS if _matches(*pair)] == []


@pytest.mark.parametrize(
    ("spoken", "phrase"),
    [
        ("848", "8848"),  # 86% similar
        ("88488", "8848"),
        ("12345678", "12345679"),
        ("code 1234568", "code 1234567"),
        ("happy birthday 8847", "happy birthday 8848"),
        ("恭喜发财89", "恭喜发财88"),
        ("捌捌四捌", "八八四八"),
        ("巴巴四八", "八八四八"),  # equal sound
        ("密码八八四", "密码八八四八"),
        ("opem", "open"),
        ("sesamee", "sesame"),
        ("红包赖", "红包来"),
        ("发才", "发财"),
    ],
)
def test_a_code_or_a_short_phrase_must_match_exactly(spoken: str, phrase: str) -> None:
    assert not _is_exact(spoken, phrase)
    assert not passphrase.is_alike(spoken, phrase, 1, _not_asked)
    assert _is_exact(phrase, phrase)


@pytest.mark.parametrize("phrase", ["万事如意", "一帆风顺", "芝麻开门", "opensesame", "おめでとう"])
def test_a_longer_phrase_can_be_misheard(phrase: str) -> None:
    assert passphrase.is_alike(phrase + "a", phrase, passphrase.THRESHOLD_DEFAULT, similarity)


def test_a_phrase_below_the_threshold_by_less_than_one_does_not_pass() -> None:
    # 7 of 8 letters in both directions: 87.5.
    assert similarity("abcdefgh", "abcdefgx") == 87
    assert _matches("abcdefgh", "abcdefgx", 87)
    assert not _matches("abcdefgh", "abcdefgx", 88)


def test_the_container_compares_by_sound() -> None:
    assert containers.packets.phrases.similarity("恭禧发才", "恭喜发财") == 100
    assert containers.packets.phrases.simplified("發財") == "发财"
