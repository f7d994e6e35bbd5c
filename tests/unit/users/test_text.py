"""Texts that users may write, and names that they may not imitate."""

import json
from typing import Any

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st
from opencc import OpenCC

from local.places import ROOT
from redpacket.packets.pinyin import simplified
from redpacket.platform.errors import InvalidRequest
from redpacket.platform.http.request import nickname_of
from redpacket.platform.image_url import absolute_url
from redpacket.platform.text import (
    _HAN_FORMS,
    _PLAIN,
    RESERVED_PHRASES,
    _hidden,
    find_invisible,
    graphemes,
    is_reserved,
    without_invisible,
)
from redpacket.users.confusables import skeleton_of
from redpacket.users.ports import Profile
from redpacket.users.use_cases.edit_profile import edit_profile

HOSTS = frozenset({"cdn.host.example", "*.img.example"})


class Profiles:
    """Profiles kept in a dictionary."""

    def __init__(self) -> None:
        self.kept: dict[str, Profile] = {}

    def put(self, profile: Profile) -> None:
        self.kept[profile.user_id] = profile


def _absolute(url: str) -> str:
    return absolute_url(url, HOSTS, "https://page.example", lambda path: path.endswith("own"))


def _edit(nickname: str, avatar_url: str | None = None) -> list[str]:
    """Return the refused fields."""
    profiles: Any = Profiles()
    try:
        ports: Any = {"profiles": profiles, "skeleton_of": skeleton_of}
        edit_profile("ann", nickname, avatar_url, absolute_url=_absolute, **ports)
    except InvalidRequest as error:
        assert profiles.kept == {}
        return [problem["field"] for problem in error.errors]
    assert profiles.kept["ann"] == Profile("ann", nickname, avatar_url)
    return []


# ---------------------------------------------------------------- invisible characters


BLANKS = (
    *("\u3164", "\u2800", "\u034f", "\ufe0f", "\ufe0e", "\ufe00", "\U000e0100", "\u115f"),
    *("\u1160", "\uffa0", "\u17b4", "\u180b", "\u180e", "\u200b", "\u2060", "\ufeff"),
    *("\u00ad", "\u202e", "\U000e0041", "\ufffc", "\U0001d159", "\U0001d173"),
)
EVERY = [chr(point) for point in range(0x110000)]
TEXTS = json.loads((ROOT / "tests/vectors/texts.json").read_text(encoding="utf-8"))["texts"]


def test_invisible_characters_are_refused_in_any_text() -> None:
    texts = (text for blank in BLANKS for text in (blank, f"a{blank}包", f"a{blank}"))

    assert [ascii(text) for text in texts if not find_invisible(text)] == []


def test_every_default_ignorable_character_is_refused_after_a_letter() -> None:
    ignorable = regex.findall(r"\p{Default_Ignorable_Code_Point}", "".join(EVERY))

    assert len(ignorable) > 4000
    assert [ascii(each) for each in ignorable if find_invisible(f"a{each}") != each] == []


@pytest.mark.parametrize("case", TEXTS, ids=[case["name"] for case in TEXTS])
def test_a_text_can_have_all_characters_that_unicode_allows(case: dict[str, Any]) -> None:
    text = case["text"]
    hidden = find_invisible(text)

    assert (f"U+{ord(hidden):04X}" if hidden else None) == case.get("refused")
    assert nickname_of(text) == case.get("kept", text)
    assert len(graphemes(text)) == case["graphemes"]


def test_every_frequent_character_passes_the_whole_rule() -> None:
    frequent = [each for each in EVERY if _PLAIN.fullmatch(each)]
    selected = [pair for pair in (f"{each}\ufe0f" for each in frequent) if _PLAIN.fullmatch(pair)]

    assert len(frequent) > 30_000
    assert len(selected) > 1000
    assert [ascii(text) for text in frequent + selected if _hidden().search(text)] == []


@given(
    st.text(
        st.sampled_from("红a1ه\u0dca\u09b0👍❤🏽🏴\ufe0e\ufe0f\u200c\u200d\u202e\U000e0067\u034f")
    )
)
def test_a_normalized_text_is_visible(text: str) -> None:
    assert find_invisible(without_invisible(text)) is None


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("名" * 33, "名" * 32),
        ("👨\u200d👩\u200d👧\u200d👦" * 40, "👨\u200d👩\u200d👧\u200d👦" * 32),
        ("e" + "\u0323\u0301" * 200, None),
        ("x" * 31 + " name", "x" * 31),
    ],
)
def test_a_long_name_is_cut_between_its_characters(text: str, shown: str | None) -> None:
    assert nickname_of(text) == shown


# ---------------------------------------------------------------- reserved names


RESERVED = (
    *("系统消息", "系統消息", "官方", "官方客服", "系 统 消 息", "【系统】通知", "管理员01"),
    *("微信支付", "admin", "Admin", "ADMIN", "ａｄｍｉｎ", "a.d.m.i.n", "admin_01", "the admin"),
    *("ádmin", "Root", "redpacket support", "Official", "𝐚𝐝𝐦𝐢𝐧"),
    *("支付宝", "支付寶", "腾讯客户", "騰訊", "财务", "財務部", "银联", "云闪付", "營運"),
    *("Alipay", "alipay 01", "Tencent", "WeChatPay", "TenPay"),
    *("徽信支付", "微信⽀付", "宫方", "官万", "管理貟", "菅埋員", "滕汛", "容 服", "支忖宝"),
    *("微信紅包", "红包助手", "领奖中心", "平台", "管理人员", "工莋人员", "客月艮"),
)
LOOK_ALIKES = (
    *("\u0430dmin", "\u0430\u0501min", "\u03b1dmin", "AD\u041cIN", "ADMlN", "adm1n"),
    *("\u0251dmin", "r00t", "r\u043e\u043et", "syst\u0435m", "\u0455ystem", "\u043efficial"),
    "adm\u0131n",
)
TAKEN = (
    *("小明", "发红包的人", "badminton", "Adminton", "Анна", "Μαρία", "恭喜发财", "王管理"),
    *("Rooty", "Alice 1", "👍🏽", "ada", "\u0430\u043d\u044f"),
    *("云朵", "财神", "支持者", "讯飞", "薇薇", "土豆", "万方", "容容", "宝宝", "银河", "人入"),
)


def test_names_of_the_system_and_their_look_alikes_are_refused() -> None:
    assert [name for name in RESERVED if not is_reserved(name)] == []
    assert [name for name in LOOK_ALIKES if is_reserved(name)] == []
    refused = (*RESERVED, *LOOK_ALIKES)
    assert [ascii(name) for name in refused if _edit(name) != ["nickname"]] == []
    assert [name for name in TAKEN if _edit(name)] == []


@pytest.mark.parametrize("script", ["s2t", "s2tw", "s2hk", "t2jp"])
def test_a_reserved_phrase_is_refused_in_each_script(script: str) -> None:
    written = [OpenCC(script).convert(phrase) for phrase in RESERVED_PHRASES]

    assert [name for name in written if not is_reserved(name)] == []


def test_the_forms_of_a_character_agree_with_the_scripts_of_passphrases() -> None:
    letters = {letter: forms[0] for forms in _HAN_FORMS for letter in forms}
    reserved = set("".join(RESERVED_PHRASES))

    assert len(letters) == sum(map(len, _HAN_FORMS)), "a character has one form"
    assert reserved <= letters.keys()
    for letter, form in letters.items():
        plain = simplified(letter)
        assert letters.get(plain, form) == form, letter


# ---------------------------------------------------------------- avatars

ALLOWED = (
    "https://cdn.host.example/a.png?size=64",
    "https://CDN.host.example",
    "https://a.img.example/",
)
ELSEWHERE = (
    "https://evil.example/a.png",
    "https://host.example/a.png",
    "https://cdn.host.example.evil.example/a.png",
    "https://cdn.host.example@evil.example/a.png",
    "https://evil.example\\@cdn.host.example/a.png",
    "https://cdn.host.example\\.evil.example/a.png",
    "https://cdn.host.example:8443/a.png",
    "https://cdn.host.example./a.png",
    "https://cdn.host.example#@evil.example/",
    "https://cdn.host.example?.evil.example/",
    "https://img.example/a.png",
    "https://a.b.img.example/a.png",
    "https://*.img.example/a.png",
    "https:///cdn.host.example/a.png",
)


def test_an_avatar_is_accepted_only_from_an_allowed_host() -> None:
    assert [url for url in ALLOWED if _edit("ann", url)] == []
    assert [url for url in ELSEWHERE if _edit("ann", url) != ["avatar_url"]] == []
