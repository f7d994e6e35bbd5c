"""What people may write, and whom they may not pass themselves off as."""

from __future__ import annotations

import unicodedata

import pytest
import regex

from redpacket.adapters.skeletons import skeleton_of
from redpacket.domain.errors import InvalidRequest
from redpacket.domain.packet import Person
from redpacket.domain.text import is_reserved, is_visible
from redpacket.flows.accounts.edit_profile import edit_profile
from redpacket.ports.accounts import Profile

HOSTS = frozenset({"cdn.host.example", "*.img.example"})


class Profiles:
    """Keeps profiles in a dictionary."""

    def __init__(self) -> None:
        self.kept: dict[str, Profile] = {}

    def list_profiles(self, user_ids: object) -> dict[str, Profile]:
        raise NotImplementedError

    def put(self, profile: Profile) -> None:
        self.kept[profile.user_id] = profile

    def list_unnoted(self, people: object) -> list[Person]:
        raise NotImplementedError

    def note(self, person: Person, said_at_ms: int) -> None:
        raise NotImplementedError

    def erase(self, user_id: str, now_ms: int) -> None:
        raise NotImplementedError


def _edit(nickname: str, avatar_url: str | None = None) -> list[str]:
    """Return the fields that are refused."""
    profiles = Profiles()
    try:
        edit_profile(
            "ann",
            nickname,
            avatar_url,
            profiles=profiles,
            skeleton_of=skeleton_of,
            avatar_hosts=HOSTS,
        )
    except InvalidRequest as error:
        assert profiles.kept == {}
        return [found["field"] for found in error.errors]
    assert profiles.kept["ann"] == Profile("ann", nickname, avatar_url)
    return []


# ---------------------------------------------------------------- what does not show


@pytest.mark.parametrize(
    "blank",
    [
        *("\u3164", "\u2800", "\u034f", "\ufe0f", "\ufe0e", "\ufe00", "\U000e0100", "\u115f"),
        *("\u1160", "\uffa0", "\u17b4", "\u180b", "\u180e", "\u200b", "\u2060", "\ufeff"),
        *("\u00ad", "\u202e", "\U000e0041", "\ufffc", "\U0001d159", "\U0001d173"),
    ],
    ids=ascii,
)
def test_a_text_held_invisible_characters(blank: str) -> None:
    assert not is_visible(blank)
    assert not is_visible(f"红{blank}包")
    assert not is_visible(f"a{blank}")


def test_every_default_ignorable_character_is_refused() -> None:
    every = (chr(point) for point in range(0x110000))
    ignorable = regex.findall(r"\p{Default_Ignorable_Code_Point}", "".join(every))

    assert len(ignorable) > 4000
    assert [ascii(found) for found in ignorable if is_visible(f"a{found}")] == []


@pytest.mark.parametrize(
    "text", ["❤\ufe0f", "1\ufe0f\u20e3", "☀\ufe0f 新年好", "👍🏽", "ﷺ", "é", "한글"]
)
def test_emoji_and_every_script_are_visible(text: str) -> None:
    assert is_visible(unicodedata.normalize("NFC", text))


def test_a_second_selector_selects_nothing() -> None:
    assert not is_visible("❤\ufe0f\ufe0f")


# ---------------------------------------------------------------- reserved names


@pytest.mark.parametrize(
    "name",
    [
        *(
            "系统消息",
            "系統消息",
            "官方",
            "官方客服",
            "系 统 消 息",
            "【系统】通知",
            "管理员01",
            "微信支付",
        ),
        *(
            "admin",
            "Admin",
            "ADMIN",
            "ａｄｍｉｎ",
            "a.d.m.i.n",
            "admin_01",
            "the admin",
            "ádmin",
            "Root",
        ),
        *("redpacket support", "Official", "𝐚𝐝𝐦𝐢𝐧"),
    ],
)
def test_a_name_was_that_of_the_system(name: str) -> None:
    assert is_reserved(name)
    assert _edit(name) == ["nickname"]


@pytest.mark.parametrize(
    "name",
    [
        *(
            "\u0430dmin",
            "\u0430\u0501min",
            "\u03b1dmin",
            "AD\u041cIN",
            "ADMlN",
            "adm1n",
            "\u0251dmin",
        ),
        *("r00t", "r\u043e\u043et", "syst\u0435m", "\u0455ystem", "\u043efficial", "adm\u0131n"),
    ],
    ids=ascii,
)
def test_a_name_looked_like_that_of_the_system(name: str) -> None:
    assert not is_reserved(name)
    assert _edit(name) == ["nickname"]


@pytest.mark.parametrize(
    "name",
    [
        *("小明", "发红包的人", "badminton", "Adminton", "Анна", "Μαρία", "恭喜发财", "王管理"),
        *("Rooty", "Alice 1", "👍🏽", "ada", "\u0430\u043d\u044f"),
    ],
)
def test_other_names_are_taken(name: str) -> None:
    assert _edit(name) == []


# ---------------------------------------------------------------- avatars


@pytest.mark.parametrize(
    "url",
    [
        "https://cdn.host.example/a.png?size=64",
        "https://CDN.host.example",
        "https://a.img.example/",
    ],
)
def test_avatars_on_allowed_hosts_are_taken(url: str) -> None:
    assert _edit("ann", url) == []


@pytest.mark.parametrize(
    "url",
    [
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
    ],
)
def test_an_avatar_lay_on_any_host(url: str) -> None:
    assert _edit("ann", url) == ["avatar_url"]
