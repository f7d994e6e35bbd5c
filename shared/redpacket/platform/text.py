"""Rules for text from users: it is composed and visible, and imitates no reserved name."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from functools import cache
from itertools import accumulate, compress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import regex

_HIDDEN = r"""(?xV1)
  # A flag of England, Scotland or Wales, which tags spell.
  \U0001f3f4 \U000e0067\U000e0062
    (?: \U000e0065\U000e006e\U000e0067 | \U000e0073\U000e0063\U000e0074
      | \U000e0077\U000e006c\U000e0073 ) \U000e007f (*SKIP)(*FAIL)
  # Control, format, surrogate, private and unassigned characters, separators of lines, fillers,
  # selectors, and three that Unicode counts as visible. Emoji and ideographs of later versions of
  # Unicode are unassigned, but their places are reserved.
  | [[\p{C}\p{Zl}\p{Zp}\p{DI}\u2800\ufffc\U0001d159]
     -- [\p{ExtPict}[\U00020000-\U0003fffd--\p{NChar}]]]
  (?<!
    # The look of an emoji or a symbol, and the variants of ideographs and Mongolian letters.
      [[\p{Emoji}\p{ExtPict}\p{S}]--[$+<=>\^`|~]] [\ufe0e\ufe0f]
    | \p{UIdeo} [\ufe00-\ufe02\U000e0100-\U000e01ef]
    | [\p{Mong}&&\p{L}] [\u180b-\u180f]
    # A joiner inside an emoji of at most four.
    | \p{ExtPict} [\p{EMod}\ufe0f]? \u200d (?= \p{ExtPict} )
      (?<! (?: \u200d \p{ExtPict} [\p{EMod}\ufe0f]? ){3} \u200d )
    # A joiner beside a virama, and one that changes how Arabic and similar letters connect.
    | \p{ccc=9} \p{M}* [\u200c\u200d]
    | \p{L} \u200d (?= \p{ccc=9} )
    | [\p{jt=D}\p{jt=R}&&\p{L}] \p{M}* \u200c (?= \p{M}* [\p{jt=D}\p{jt=R}&&\p{L}] )
    | [\p{jt=D}&&\p{L}] \p{M}* \u200d (?! \p{M}* [\p{jt=D}\p{jt=R}&&\p{L}] )
  )
"""
"""Pattern for an invisible character that neither a script nor an emoji needs.

The properties are those of the Unicode version in the library `regex`.
"""

# Frequent visible characters. If a nickname has only these, the user's grab doesn't import regex.
_PLAIN = re.compile(
    "(?:[ -~\u00c0-\u024f\u0410-\u044f\u3000-\u3020\u3041-\u3096\u30a1-\u30fe\u4e00-\u9fff"
    "\uac00-\ud7a3\uff01-\uff5e]"
    "|[\u2600-\u2767\u2794-\u27bf\U0001f300-\U0001f64f\U0001f680-\U0001f6ff\U0001f900-\U0001f9ff]\ufe0f?)*"
)

CODE_POINTS_PER_GRAPHEME_MAX = 8
"""A text limited to N graphemes may have at most 8N code points, or 32N bytes in UTF-8."""

NICKNAME_GRAPHEMES_MAX = 32
NOTE_GRAPHEMES_MAX = 100

# Unicode categories of audible characters: letters, marks and numbers.
_HEARD = "LMN"

_PUNCTUATION_OF_PHONES = str.maketrans({**dict.fromkeys("‐‒–—―−.", "-"), "(": None, ")": None})

RESERVED_WORDS = (
    *("admin", "administrator", "hongbao", "moderator", "official", "redpacket", "root"),
    *("service", "support", "system", "wechat", "weixin", "wechatpay", "tencent", "tenpay"),
    *("alipay", "unionpay"),
)
"""Words that no name may equal or contain as a separate word."""

RESERVED_PHRASES = (
    *("系统", "官方", "管理员", "管理人员", "客服", "客月艮", "运营", "营运", "工作人员", "财务"),
    *("微信支付", "微信团队", "微信红包", "红包助手", "财付通", "腾讯", "支付宝", "银联", "云闪付"),
    *("领奖", "发奖", "平台"),
)
"""Phrases that no name may contain, even in variant characters."""

_HAN_FORMS = (
    *("系係繫糸", "统統綂", "官宫宮宦管菅筦", "方万邡", "理埋俚狸", "员員貟贠", "客容", "服箙"),
    *("运運迂", "营營莹瑩", "工土士", "作做莋", "人入", "微徽徵溦薇", "信伩", "支攴攵", "付忖什"),
    *("团團団囝", "队隊", "财財材", "通逋", "宝寶寳宔", "腾騰滕縢", "讯訊汛迅", "务務"),
    *("银銀", "联聯聫", "云雲", "闪閃", "月", "艮", "红紅", "包", "助", "手", "领領", "奖獎奨"),
    *("发發", "平", "台臺"),
)
"""Characters of the reserved phrases, each with its look-alikes.

Unicode's table of confusable characters has almost no ideographs. This list has Unihan's
traditional and variant forms, and characters that differ by a stroke or the radical.
"""

_ONE_FORM = str.maketrans({other: forms[0] for forms in _HAN_FORMS for other in forms[1:]})


def composed(text: str) -> str:
    """Return *text* in NFC, without white space at its ends."""
    return unicodedata.normalize("NFC", text).strip()


def pasted(text: str) -> str:
    """Return pasted *text* as displayed: on one line, without invisible characters."""
    return composed(without_invisible(" ".join(text.split())))


def pasted_phone(text: str) -> str:
    """Return a pasted phone number with ASCII digits and hyphens, and without parentheses."""
    plain = pasted(unicodedata.normalize("NFKC", text))
    return with_ascii_digits(plain).translate(_PUNCTUATION_OF_PHONES)


def with_ascii_digits(text: str) -> str:
    """Return *text* with decimal digits from any script converted to 0 to 9."""
    return "".join(str(unicodedata.decimal(letter, letter)) for letter in text)


def audible(text: str) -> str:
    """Return the audible characters in *text*, normalized to one width and case."""
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    return "".join(letter for letter in folded if unicodedata.category(letter)[0] in _HEARD)


def find_invisible(text: str) -> str | None:
    """Return the first invisible character of *text* that is not allowed, or None."""
    hidden = None if _PLAIN.fullmatch(text) else _hidden().search(text)
    return hidden[0] if hidden else None


def without_invisible(text: str) -> str:
    """Return *text* without the characters that `find_invisible` finds."""
    while not _PLAIN.fullmatch(text):
        kept = _hidden().sub("", text)
        if kept == text:
            break
        # A joiner may have been valid only beside a removed character.
        text = kept
    return text


def graphemes(text: str) -> list[str]:
    """Split *text* into the units that a reader counts as characters."""
    # Import lazily: the import takes 39 ms, and grabs seldom need it.
    import regex

    return regex.findall(r"\X", text)


def shortened(text: str, graphemes_max: int) -> str:
    """Return *text*, cut between graphemes if it exceeds the bounds."""
    if len(text) <= graphemes_max:
        return text
    letters = graphemes(text)[:graphemes_max]
    code_points_max = graphemes_max * CODE_POINTS_PER_GRAPHEME_MAX
    fits = (code_points <= code_points_max for code_points in accumulate(map(len, letters)))
    return composed("".join(compress(letters, fits)))


def folded(text: str) -> str:
    """Return *text* without differences in case, width and marks, which readers ignore."""
    plain = unicodedata.normalize("NFKD", unicodedata.normalize("NFKC", text).casefold())
    return "".join(letter for letter in plain if unicodedata.category(letter)[0] != "M")


def is_reserved(name: str, skeleton_of: Callable[[str], str] = str) -> bool:
    """Return whether *name* impersonates the system or its operators.

    *skeleton_of* maps look-alikes to plain letters; by default, look-alike letters pass.
    """
    words, phrases = _reserved(skeleton_of)
    # Characters between letters separate words, or the letters of one word: a.d.m.i.n.
    fragments = [part for part in re.split(r"[\W\d_]+", _compared(name, skeleton_of)) if part]
    joined = "".join(fragments)
    return (
        joined in words
        or not words.isdisjoint(fragments)
        or any(phrase in joined for phrase in phrases)
    )


def looks_reserved(text: str, skeleton_of: Callable[[str], str]) -> bool:
    """Return whether *text* contains a reserved name, as written or in look-alike letters."""
    return is_reserved(text) or is_reserved(text, skeleton_of)


LOOKS_RESERVED = "is or looks reserved. Choose another"
"""Message about text that `looks_reserved` rejects."""


@cache
def _reserved(skeleton_of: Callable[[str], str]) -> tuple[frozenset[str], frozenset[str]]:
    """Return the reserved words and phrases in normalized form, so that ADMlN equals ADMIN."""
    cases = (case for word in RESERVED_WORDS for case in (word, word.upper()))
    words = frozenset(_compared(word, skeleton_of) for word in cases)
    return words, frozenset(_compared(phrase, skeleton_of) for phrase in RESERVED_PHRASES)


def _compared(text: str, skeleton_of: Callable[[str], str]) -> str:
    return folded(skeleton_of(unicodedata.normalize("NFKC", text).translate(_ONE_FORM)))


@cache
def _hidden() -> regex.Pattern[str]:
    import regex

    return regex.compile(_HIDDEN)
