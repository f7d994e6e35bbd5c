"""Profiles and queries of another form."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from tests.integration.conftest import User
from tests.integration.refusals.answers import (
    UNKNOWN_PACKET,
    assert_invalid,
    call_raw,
    cases,
)

# ---------------------------------------------------------------- PUT /me/profile

REFUSED_PROFILES: dict[str, tuple[dict[str, Any], str]] = {
    "no nickname": ({}, "nickname"),
    "an empty nickname": ({"nickname": ""}, "nickname"),
    "a nickname of spaces": ({"nickname": " \u3000"}, "nickname"),
    "a nickname of 33 characters": ({"nickname": "名" * 33}, "nickname"),
    "a nickname of 33 emoji": ({"nickname": "👍🏽" * 33}, "nickname"),
    "a nickname that runs backwards": ({"nickname": "a\u202eb"}, "nickname"),
    "an invisible nickname": ({"nickname": "a\u200bb"}, "nickname"),
    "a nickname of a Hangul filler": ({"nickname": "\u3164"}, "nickname"),
    "a nickname of a blank of Braille": ({"nickname": "a\u2800b"}, "nickname"),
    "a nickname with a stray selector": ({"nickname": "a\ufe0f"}, "nickname"),
    "the system's name": ({"nickname": "系统消息"}, "nickname"),
    "a name that looks like an operator's": ({"nickname": "\u0430dmin"}, "nickname"),
    "an avatar on another host": ({"avatar_url": "https://images.elsewhere.test/a"}, "avatar_url"),
    "an avatar on no host": ({"avatar_url": "https://a.example@evil.test/"}, "avatar_url"),
    "a nickname of two lines": ({"nickname": "a\nb"}, "nickname"),
    "a number as nickname": ({"nickname": 5}, "nickname"),
    "a nickname of null": ({"nickname": None}, "nickname"),
    "an avatar without TLS": ({"avatar_url": "http://images.example/a.png"}, "avatar_url"),
    "an avatar that runs": ({"avatar_url": "javascript:alert(1)"}, "avatar_url"),
    "an avatar in the link": ({"avatar_url": "data:image/png;base64,AAAA"}, "avatar_url"),
    "an avatar of two lines": ({"avatar_url": "https://a.example/\nX: y"}, "avatar_url"),
    "an avatar with a line feed": ({"avatar_url": "https://a.example/a\n"}, "avatar_url"),
    "an avatar with a space": ({"avatar_url": "https://a.example/a b"}, "avatar_url"),
    "an avatar that is long": ({"avatar_url": "https://a.example/" + "a" * 1024}, "avatar_url"),
    "an avatar that is a number": ({"avatar_url": 5}, "avatar_url"),
    "a balance": ({"balance_fen": 10**6}, "balance_fen"),
    "a user token": ({"user_token": "t"}, "user_token"),
}


@cases(REFUSED_PROFILES)
def test_a_profile_of_another_form_is_refused(
    sender: User, case: tuple[dict[str, Any], str]
) -> None:
    change, field = case
    body = change if field == "nickname" else {"nickname": "n", **change}

    assert_invalid(sender.http.put("/me/profile", json=body), field)


# ---------------------------------------------------------------- query parameters

NO_LIMITS = ["limit=0", "limit=101", "limit=abc", "limit=-1", "limit=", "limit=1.5", "limit=+5"]
NO_LIMITS += ["limit=%00", f"limit={'9' * 500}", "limit=%D9%A3", "limit=1&limit=2"]
NO_CURSORS = ["cursor=abc", "cursor=-1", "cursor=%00", f"cursor={'9' * 500}", "cursor="]
NO_YEARS = ["year=20x", "year=0", "year=-1", "year=2201", "year=", f"year={'9' * 500}"]
REFUSED_QUERIES = [
    *itertools.product([f"/packets/{UNKNOWN_PACKET}", "/me/transfers"], NO_LIMITS + NO_CURSORS),
    *itertools.product(["/me/sent", "/me/received"], NO_YEARS),
    ("/me/transfers", "cursor=entry%23"),
    ("/me/transfers", "cursor=balance"),
    ("/me/transfers", f"cursor=entry%231795000000000%23{'a' * 3000}"),
    ("/me/transfers", "cursor=entry%231795000000000%23%EF%BF%BF"),
]


@pytest.mark.parametrize(
    ("path", "query"), REFUSED_QUERIES, ids=lambda word: str(word)[:40].replace("[", "(")
)
def test_a_query_of_another_form_is_refused(sender: User, path: str, query: str) -> None:
    answer = call_raw(sender, "GET", f"{path}?{query}")

    assert_invalid(answer, query.partition("=")[0])
