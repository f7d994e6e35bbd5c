"""CSV of lists: what a spreadsheet opens must run nothing and lose nothing."""

import csv
import io
import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from redpacket.platform.http.api import Api, HttpAnswer
from redpacket.platform.http.csv_pages import csv_text, is_csv_asked
from redpacket.platform.http.request import HttpRequest

FORMULAS = "=+-@\t\r\n＝＋－＠"


def _read(text: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text, newline="")))


@given(st.text())
def test_a_cell_is_read_as_it_was_and_never_begins_a_formula(text: str) -> None:
    line = csv_text(["a", "b"], [{"a": text, "b": 1}])

    ((_, _), (cell, number)) = _read(line)
    assert number == "1"
    assert cell.removeprefix("'") == text.removeprefix("'") or cell == text
    assert not cell.startswith(tuple(FORMULAS))


def test_what_a_spreadsheet_would_run_is_a_text() -> None:
    for sign in FORMULAS:
        ((_,), (cell,)) = _read(csv_text(["a"], [{"a": f"{sign}cmd|' /C calc'!A0"}]))
        assert cell == f"'{sign}cmd|' /C calc'!A0"


def test_values_of_every_kind_have_one_form() -> None:
    item = {"a": None, "b": True, "c": -5, "d": [{"e": "安"}], "f": 'say "hi", all'}

    text = csv_text(list(item), [item])

    assert text == ('"a","b","c","d","f"\r\n"","true",-5,"[{""e"": ""安""}]","say ""hi"", all"\r\n')


def test_who_names_csv_first_gets_csv() -> None:
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


def test_a_list_is_sent_in_the_form_that_was_asked_for() -> None:
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
