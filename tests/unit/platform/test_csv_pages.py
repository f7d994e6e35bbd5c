"""CSV of lists: a spreadsheet that opens it runs nothing and loses nothing."""

import csv
import io
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redpacket.approvals.api import operator_lists
from redpacket.platform.http.api import Api, HttpAnswer
from redpacket.platform.http.csv_pages import csv_text, is_csv_asked
from redpacket.platform.http.request import HttpRequest

ID_COLUMNS = {
    column
    for columns in (
        *(operator_lists.JOURNAL_COLUMNS, operator_lists.CAMPAIGN_COLUMNS),
        *(operator_lists.PACKET_COLUMNS, operator_lists.CLAIM_COLUMNS),
        *(operator_lists.SHARER_COLUMNS, operator_lists.WINNER_COLUMNS),
    )
    for column in columns
    if column.endswith(("_id", "_token")) or column in {"user", "sender", "via", "unit"}
}
FORMULAS = "=+-@\t\r\n＝＋－＠"


def _read(text: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text, newline="")))


@given(st.text())
def test_a_cell_is_read_unchanged_and_never_begins_a_formula(text: str) -> None:
    line = csv_text(["a", "b"], [{"a": text, "b": 1}])

    ((_, _), (cell, number)) = _read(line)
    assert number == "1"
    assert cell.removeprefix("'") == text.removeprefix("'") or cell == text
    assert not cell.startswith(tuple(FORMULAS))


def test_a_formula_is_a_text() -> None:
    for sign in FORMULAS:
        ((_,), (cell,)) = _read(csv_text(["a"], [{"a": f"{sign}cmd|' /C calc'!A0"}]))
        assert cell == f"'{sign}cmd|' /C calc'!A0"


@pytest.mark.parametrize("column", [*sorted(ID_COLUMNS), "account", "draw_id"])
def test_an_id_stays_unchanged_and_a_formula_in_its_column_does_not(column: str) -> None:
    for text, expected in (
        ("-y42G_z-8", "-y42G_z-8"),
        ("-1+1", "'-1+1"),
        ("-A1()", "'-A1()"),
        ("=1", "'=1"),
    ):
        ((_,), (cell,)) = _read(csv_text([column], [{column: text}]))
        assert cell == expected


@pytest.mark.parametrize("column", ["nickname", "note", "address", "title"])
def test_a_text_of_a_user_that_begins_with_a_minus_is_a_text(column: str) -> None:
    ((_,), (cell,)) = _read(csv_text([column], [{column: "-_-"}]))

    assert cell == "'-_-"


def test_values_of_every_kind_have_one_format() -> None:
    item = {"a": None, "b": True, "c": -5, "d": [{"e": "安"}], "f": 'say "hi", all'}

    text = csv_text(list(item), [item])

    assert text == ('"a","b","c","d","f"\r\n"","true",-5,"[{""e"": ""安""}]","say ""hi"", all"\r\n')


def test_a_client_that_lists_csv_first_gets_csv() -> None:
    csv_first = "text/csv", "TEXT/CSV; charset=utf-8, application/json"
    for accept in (*csv_first, "application/json, text/csv", "text/csvx", "*/*", ""):
        assert is_csv_asked({"accept": accept}) is (accept in csv_first)
    assert not is_csv_asked({})


def _listed(accept: str, cursor: str | None) -> dict[str, Any]:
    api = Api()

    @api.route("GET /list", csv=("b", "a"))
    def read_list(_request: HttpRequest) -> HttpAnswer[dict[str, Any]]:
        return HttpAnswer({"items": [{"a": 1, "b": "x", "more": 0}], "next": cursor})

    event = {
        "routeKey": "GET /list",
        "headers": {"Accept": accept},
        "requestContext": {"requestId": "r"},
    }
    return dict(api(event, None))


def test_a_list_has_the_requested_format() -> None:
    page = _listed("text/csv", "goes-on")
    last = _listed("text/csv", None)
    other = _listed("application/json", "goes-on")

    assert page["headers"] == {
        "cache-control": "no-store",
        "content-type": "text/csv; charset=utf-8; header=present",
        "x-next-cursor": "goes-on",
        "x-request-id": "r",
    }
    assert page["body"] == '"b","a"\r\n"x",1\r\n'
    assert "x-next-cursor" not in last["headers"]
    assert json.loads(other["body"])["next"] == "goes-on"
