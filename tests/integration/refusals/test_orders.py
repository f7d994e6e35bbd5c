"""Orders that are refused: their form, their split, their text, their bytes."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from redpacket.domain.ledger import FEN_MAX
from tests.integration.conftest import MakeUser, User
from tests.integration.refusals.answers import (
    WRONG_TYPES,
    assert_invalid,
    assert_refused,
    cases,
    send_raw,
)

# ---------------------------------------------------------------- POST /packets: the form

INTEGERS = ["total_fen", "count", "share_fen_min", "share_fen_max", "unit_fen", "expires_in_s"]


@pytest.mark.parametrize("field", INTEGERS)
@cases(WRONG_TYPES)
def test_only_an_integer_is_an_integer(sender: User, field: str, case: Any) -> None:
    assert_invalid(sender.send(**{field: case}), field)


@pytest.mark.parametrize("field", ["total_fen", "count", "share_fen_min", "unit_fen"])
def test_null_is_not_an_integer(sender: User, field: str) -> None:
    assert_invalid(sender.send(**{field: None}), field)


OUT_OF_RANGE = {
    "no money": {"total_fen": 0},
    "less than no money": {"total_fen": -1},
    "the smallest 64-bit integer": {"total_fen": -(2**63)},
    "a fen over the cap": {"total_fen": FEN_MAX + 1},
    "ten times the cap": {"total_fen": 10**13},
    "a total of 31 digits": {"total_fen": 10**30},
    "a total that overflows 64 bits into 1": {"total_fen": 2**64 + 1},
    "no shares": {"count": 0},
    "less than no shares": {"count": -1},
    "a share over the most": {"count": 101},
    "a count of 31 digits": {"count": 10**30},
    "shares of nothing": {"share_fen_min": 0},
    "shares below nothing": {"share_fen_min": -1},
    "at most nothing": {"share_fen_max": 0},
    "a share over the cap": {"share_fen_max": FEN_MAX + 1},
    "a share over the deployment's most": {"share_fen_max": 20_001},
    "units of more than a note": {"unit_fen": 10_001},
    "units of nothing": {"unit_fen": 0},
    "no time": {"expires_in_s": 0},
    "less than no time": {"expires_in_s": -1},
    "over a week": {"expires_in_s": 7 * 24 * 3600 + 1},
    "for ever": {"expires_in_s": 10**30},
}


@cases(OUT_OF_RANGE)
def test_numbers_out_of_range_are_refused(sender: User, case: dict[str, Any]) -> None:
    assert_invalid(sender.send(**case), *case)


WRONG_WORDS = {
    "an unknown kind": {"kind": "unlucky"},
    "a kind in capitals": {"kind": "LUCKY"},
    "no kind at all": {"kind": None},
    "a number as a kind": {"kind": 1},
    "an unknown split": {"split": "fair"},
    "an unknown opening": {"opening": "three_step"},
}


@cases(WRONG_WORDS)
def test_words_that_the_contract_does_not_know_are_refused(
    sender: User, case: dict[str, Any]
) -> None:
    assert_invalid(sender.send(**case), *case)


@pytest.mark.parametrize(
    ("kind", "split"), [("equal", "double_mean"), ("equal", "bell"), ("lucky", "equal")], ids=str
)
def test_a_split_that_does_not_go_with_the_kind_is_refused(
    sender: User, kind: str, split: str
) -> None:
    assert_invalid(sender.send(kind=kind, split=split), "body")


@pytest.mark.parametrize(
    "field", ["amount_fen", "seed", "packet_id", "sender", "status", "Total_fen", "", "__class__"]
)
def test_an_unknown_field_is_refused(sender: User, field: str) -> None:
    body = {"kind": "lucky", "total_fen": 100, "count": 2, field: 1}

    problem = assert_refused(sender.post("/packets", body), 422, "invalid_request")

    assert len(problem["errors"]) == 1


@pytest.mark.parametrize("field", ["kind", "total_fen", "count"])
def test_a_field_that_is_due_and_missing_is_refused(sender: User, field: str) -> None:
    body = {"kind": "lucky", "total_fen": 100, "count": 2}
    del body[field]

    assert_invalid(sender.post("/packets", body), field)


def test_every_wrong_field_is_named_at_once(sender: User) -> None:
    answer = sender.send(kind="?", total_fen="1", count=0, extra=1)

    for field in ("kind", "total_fen", "count", "extra"):
        assert_invalid(answer, field)


# ---------------------------------------------------------------- POST /packets: the split

IMPOSSIBLE = {
    "more shares than fen": {"total_fen": 99, "count": 100},
    "an equal total with a remainder": {"kind": "equal", "total_fen": 100, "count": 3},
    "a least share above the largest": {"share_fen_min": 300, "share_fen_max": 100},
    "a least share that is too much": {"total_fen": 100, "count": 10, "share_fen_min": 11},
    "a largest share that is too little": {"total_fen": 100, "count": 10, "share_fen_max": 9},
    "a fen more than shares may hold": {"total_fen": 40_001, "count": 2},
    "a total in no whole units": {"total_fen": 1001, "unit_fen": 100},
    "no unit within the bounds": {"unit_fen": 100, "share_fen_min": 101, "share_fen_max": 199},
    "an equal share above the largest": {"kind": "equal", "total_fen": 40_002, "count": 2},
}


@cases(IMPOSSIBLE)
def test_a_total_that_cannot_be_split_is_refused(sender: User, case: dict[str, Any]) -> None:
    assert_refused(sender.send(**case), 422, "split_impossible")


# ---------------------------------------------------------------- POST /packets: the text

REFUSED_GREETINGS = {
    "a null byte": "a\x00b",
    "a line feed": "a\nb",
    "a tab": "a\tb",
    "an escape sequence": "\x1b[31mred",
    "a C1 control": "a\x85b",
    "a right-to-left override": "a\u202eb",
    "a right-to-left isolate": "a\u2067b",
    "a right-to-left mark": "a\u200fb",
    "a zero-width space": "a\u200bb",
    "a zero-width joiner": "a\u200db",
    "a byte order mark": "a\ufeffb",
    "a soft hyphen": "a\u00adb",
    "a line separator": "a\u2028b",
    "a lone high surrogate": "a\ud83d",
    "a lone low surrogate": "\ude00a",
    "an unassigned code point": "a\U000e0fffb",
    "a private code point": "a\ue000b",
    "a tag character": "a\U000e0041b",
    "51 characters": "恭" * 51,
    "51 emoji": "👍" * 51,
    "51 combined characters": "e\u0301\u0323" * 51,
    "one character of 401 code points": "e" + "\u0301" * 401,
    "a number": 8,
    "nothing": None,
    "a list": ["恭喜"],
}


@cases(REFUSED_GREETINGS)
def test_a_greeting_that_is_not_plain_text_is_refused(sender: User, case: Any) -> None:
    body = json.dumps({"kind": "lucky", "total_fen": 100, "count": 2, "greeting": case})

    assert_invalid(send_raw(sender, body), "greeting")


GREETINGS = {
    "50 characters": "恭" * 50,
    "50 emoji": "👍" * 50,
    "50 emoji with a skin tone": "👍🏽" * 50,
    "50 flags": "🇨🇳" * 50,
    "50 combined characters": "e\u0301\u0323" * 50,
    "no character": "",
}


@cases(GREETINGS)
def test_a_greeting_of_fifty_graphemes_is_not_refused(a_user: MakeUser, case: str) -> None:
    sent = a_user(funds_fen=1000).send(greeting=case)

    assert sent.status_code == httpx.codes.CREATED, sent.text
    assert len(sent.json()["greeting"]) <= len(case)


# ---------------------------------------------------------------- POST /packets: the body

NO_OBJECT: dict[str, bytes | str] = {
    "an open brace": "{",
    "a word": "money",
    "single quotes": "{'kind': 'lucky'}",
    "a comma too many": '{"kind": "lucky",}',
    "two objects": "{}{}",
    "an array": "[]",
    "an array of orders": '[{"kind": "lucky", "total_fen": 100, "count": 2}]',
    "a number": "100",
    "a string": '"lucky"',
    "null": "null",
    "true": "true",
    "NaN": '{"kind": "lucky", "total_fen": NaN, "count": 2}',
    "a name twice": '{"kind": "lucky", "total_fen": 1, "total_fen": 100, "count": 1}',
    "Infinity": '{"kind": "lucky", "total_fen": Infinity, "count": 2}',
    "5,000 digits": '{"kind": "lucky", "count": 2, "total_fen": ' + "9" * 5000 + "}",
    "4,000 brackets that never close": "[" * 4000,
    "every byte there is": bytes(range(256)),
    "UTF-16": json.dumps({"kind": "lucky", "total_fen": 100, "count": 2}).encode("utf-16"),
    "gzip": bytes.fromhex("1f8b0800000000000003"),
}


@cases(NO_OBJECT)
def test_a_body_that_is_not_a_json_object_is_refused(sender: User, case: bytes | str) -> None:
    assert_invalid(send_raw(sender, case), "body")


ODD_OBJECTS: dict[str, bytes | str] = {
    "nothing at all": "",
    "white space": " \r\n\t ",
    "an empty object": "{}",
    "1,300 objects in each other": '{"a":' * 1300 + "1" + "}" * 1300,
    "4,000 arrays in each other": '{"count":' + "[" * 4000 + "]" * 4000 + "}",
    "400 unknown fields": json.dumps({f"field_{number}": 1 for number in range(400)}),
    "bytes that are not UTF-8": b'{"kind": "\xff\xfe"}',
    "a field named by half a character": '{"kind": "lucky", "count": 2, "\\ud800": 1}',
    "an amount beyond any float": '{"kind": "lucky", "count": 2, "total_fen": 1e999}',
    "an amount with an exponent": '{"kind": "lucky", "count": 2, "total_fen": 1e2}',
    "an amount of minus zero": '{"kind": "lucky", "count": 2, "total_fen": -0}',
}


@cases(ODD_OBJECTS)
def test_an_object_that_is_not_an_order_is_refused(sender: User, case: bytes | str) -> None:
    assert_refused(send_raw(sender, case), 422, "invalid_request")


OVER_8_KB = {
    "one byte over": b" " * (8 * 1024 + 1),
    "an order and much white space": b'{"kind":"lucky","total_fen":100,"count":2}' + b" " * 8192,
    "a megabyte": b"[" * 2**20,
    "few characters of many bytes": ('{"greeting": "' + "🧧" * 2050 + '"}').encode(),
    "bytes that are not text": b"\xff" * 8193,
}


@cases(OVER_8_KB)
def test_a_body_over_8_kb_is_refused(sender: User, case: bytes) -> None:
    assert_refused(send_raw(sender, case), 413, "payload_too_large")


def test_a_body_of_8_kb_is_read(sender: User) -> None:
    assert_refused(send_raw(sender, b" " * 8192), 422, "invalid_request")
