"""Amounts that operators type, tested with the table that the page and the mini-program share."""

import json
from pathlib import Path
from typing import Any

import pytest
import typer

from redpacket_cli.amounts import parse_amount

CASES: list[dict[str, Any]] = json.loads(
    (Path(__file__).parents[2] / "vectors" / "amounts.json").read_text(encoding="utf-8")
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: ascii(case["text"]))
def test_an_amount_is_read_by_the_grammar_or_refused(case: dict[str, Any]) -> None:
    expected = case.get("cli", case["fen"])

    if expected is None:
        with pytest.raises(typer.BadParameter):
            parse_amount(case["text"])
    else:
        assert parse_amount(case["text"]) == expected


def test_a_refusal_quotes_the_amount_with_the_digits_as_they_were_read() -> None:
    with pytest.raises(typer.BadParameter, match=r"1\.005 is not an amount"):
        parse_amount("\uff11.\uff10\uff10\uff15")
