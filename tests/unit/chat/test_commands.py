"""Commands as members write them."""

from typing import Any

import pytest

from redpacket.chat.use_cases.commands import command_of, packet_fields
from redpacket.platform.unit import Unit

POINTS = Unit("points", "pts", 0)
LUCKY = {"kind": "lucky", "total_fen": 8888, "count": 10}


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        ("/hongbao 88.88 10", {}),
        ("/hongbao ¥88.88 10", {}),
        ("/packet ８８．８８ １０", {}),
        ("/packet 88,88 10", {}),
        ("/packet　88.88　10", {}),
        ("/hongbao 88.88元 10\n恭喜 发财", {"greeting": "恭喜 发财"}),
        ("/hongbao 88.88 10 口令=芝麻开门 好运", {"passphrase": "芝麻开门", "greeting": "好运"}),
        ("/hongbao 88.88 10 Passphrase＝sesame", {"passphrase": "sesame"}),
    ],
)
def test_a_command_names_amount_shares_and_greeting(text: str, fields: dict[str, Any]) -> None:
    assert packet_fields(text, Unit()) == ({**LUCKY, **fields}, False)


def test_a_link_is_allowed_by_a_word_anywhere() -> None:
    assert packet_fields("/hongbao +link 88.88 10 hi", Unit()) == (
        {**LUCKY, "greeting": "hi"},
        True,
    )
    assert packet_fields("/hongbao 88.88 10 +link", Unit()) == (LUCKY, True)


def test_units_without_decimals_have_none_in_commands() -> None:
    assert packet_fields("/packet 8888 10", POINTS) == (LUCKY, False)
    assert packet_fields("/packet 8888pts 10", POINTS) == (LUCKY, False)
    assert packet_fields("/packet 88.5 10", POINTS) is None


@pytest.mark.parametrize(
    "text",
    [
        *("/packet", "/packet 5", "/packet -5 1", "/packet 0 1", "/packet 1 x"),
        *("/packet 8.888 1", "/packet 1e3 1", "/packet 1² 1", f"/packet {'9' * 5_000} 1"),
        *("/packet 99999999999 1", f"/packet 1 {'9' * 5_000}", "/packet 5 1 口令= 芝麻"),
        *("/packet 5 1 passphrase= sesame", "/packet 5 1 passphrase=a passphrase=b"),
    ],
)
def test_a_command_without_amount_shares_or_the_word_of_a_passphrase_has_no_fields(
    text: str,
) -> None:
    assert packet_fields(text, Unit()) is None


@pytest.mark.parametrize(
    ("text", "command"),
    [
        ("/HongBao 1 2", "send"),
        ("/packet\n1 2", "send"),
        ("/packet　1 2", "send"),
        ("", None),
        ("/balance", "balance"),
        ("/start chat", "help"),
        ("/hongbao2 1 2", None),
        ("hongbao 1 2", None),
    ],
)
def test_a_command_is_a_message_that_starts_with_its_name(text: str, command: str | None) -> None:
    assert command_of(text) == command
