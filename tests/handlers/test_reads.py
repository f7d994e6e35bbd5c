"""Operators' reads of personal data: their rows in the audit log, and their log lines."""

import json
from typing import Any

import pytest

from testing.in_memory_system import InMemorySystem
from testing.platform.users import HttpUser
from tests.handlers.conftest import MakeUser

HOUR_MS = 3_600_000


def _reads(auditor: HttpUser) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = auditor.http.get("/admin/journal?subject=reads").json()["items"]
    return [item for item in items if "journal" not in str(item["changes"])]


def _facts(read: dict[str, Any]) -> dict[str, str]:
    return {change["field"]: change["after"] for change in read["changes"]}


def test_the_same_read_of_host_ids_is_logged_once_an_hour_for_each_filter(
    system: InMemorySystem, operator: HttpUser, a_user: MakeUser
) -> None:
    thief, auditor = a_user("thief", scope="hongbao/operate"), a_user("aud", scope="hongbao/audit")
    sender = a_user("13800138000", funds_fen=200)
    order = {"kind": "equal", "total_fen": 200, "count": 2}
    packet_id = sender.post("/packets", order).json()["packet_id"]
    a_user("guest").http.post(f"/packets/{packet_id}/grab", json={})
    system.settle()
    listed = f"/admin/packets?sender={sender.host_id}"

    for path in (listed, f"{listed}&limit=1", f"/admin/packets/{packet_id}/claims"):
        for accept in ("application/json", "text/csv"):
            assert thief.http.get(path, headers={"accept": accept}).is_success
    first = _reads(auditor)
    system.pass_time(HOUR_MS)
    assert thief.http.get(listed).is_success

    told = {(facts["list"], facts["format"], facts["row_count"]) for facts in map(_facts, first)}
    lists = {(name, form, "1") for name in ("packets", "claims") for form in ("json", "csv")}
    assert (told, len(first)) == (lists, 4)
    assert {read["operator"]["user"] for read in first} == {"thief"}
    assert first[0]["summary"].startswith("thief read personal data in the list ")
    # The audit log is permanent, so it stores a pseudonym for the user in a filter.
    assert sender.host_id not in json.dumps(first)
    assert {facts.get("sender") for facts in map(_facts, first)} == {None, sender.user_token()}
    assert len(_reads(auditor)) == 5
    shown = operator.http.get("/admin/journal").json()["items"]
    assert "people_read" not in {item["action"] for item in shown}


def test_a_short_first_page_does_not_hide_the_rows_of_later_pages(a_user: MakeUser) -> None:
    thief, auditor = a_user("thief", scope="hongbao/operate"), a_user("aud", scope="hongbao/audit")
    sender = a_user("13800138000", funds_fen=900)
    order = {"kind": "equal", "total_fen": 100, "count": 1}
    for _ in range(9):
        sender.post("/packets", order)
    listed = f"/admin/packets?sender={sender.host_id}"

    short = thief.http.get(f"{listed}&limit=1").json()["items"]
    whole = thief.http.get(listed).json()["items"]
    for _ in range(5):
        thief.http.get(f"{listed}&limit=1")

    read_count = len(short) + len(whole) + 5
    counts = [int(_facts(read)["row_count"]) for read in _reads(auditor)]
    assert read_count / 2 < sum(counts) <= read_count
    assert sorted(counts) == [1, 9]
    summaries = {read["summary"].partition("the list ")[2] for read in _reads(auditor)}
    assert summaries == {"packets as json (rows: 1)", "packets as json (rows: 9)"}


def test_a_log_line_of_an_operator_request_has_the_pseudonym_and_no_host_id(
    operator: HttpUser, sender: HttpUser, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    operator.http.get("/admin/packets")
    sender.http.get("/me")
    # A caller without the scope is not logged as an operator.
    assert sender.http.get("/admin/packets").status_code == 403

    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    (told,) = [line for line in lines if line["message"] == "operator"]
    assert (told["operator"], told["route"]) == (operator.user_id, "GET /admin/packets")
    assert told["request_id"]


def test_an_empty_page_about_a_user_is_logged_and_an_erased_user_is_not_found(
    system: InMemorySystem, operator: HttpUser, a_user: MakeUser
) -> None:
    auditor, sender = a_user("aud", scope="hongbao/audit"), a_user("alice", funds_fen=100)
    order = {"kind": "equal", "total_fen": 100, "count": 1}
    packet_id = sender.post("/packets", order).json()["packet_id"]
    listed = "/admin/packets?sender=alice"
    open_page = auditor.http.get(f"{listed}&status=cancelled").json()
    (logged,) = _reads(operator)
    a_user("bob").grab(packet_id)
    system.settle()
    found = auditor.http.get(listed).json()["items"]

    assert operator.http.delete("/admin/users/alice").is_success

    assert (open_page["items"], len(found)) == ([], 1)
    assert _facts(logged).items() >= {"sender": sender.user_token(), "row_count": "1"}.items()
    for path in (listed, "/admin/withdrawals?user=alice"):
        assert auditor.http.get(path).json() == {"items": [], "next": None}
