"""Lists, approvals, webhooks, erasures, yearly sums and reports from the terminal."""

import csv
import io
import json
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import httpx
import pytest
from openpyxl import load_workbook

from redpacket_cli import files
from tests.unit.cli.test_command import PACKET, Stack, _body, _ok, _problem, stack

__all__ = ["stack"]

WINNERS = "GET /admin/campaigns/gala/winners"
HEAD = '"unit","user","note"\r\n'


def _paged(*pages: str) -> Callable[[httpx.Request], httpx.Response]:
    """Return a route that serves CSV pages by cursor; each page names the next one."""

    def answer(request: httpx.Request) -> httpx.Response:
        number = int(request.url.params.get("cursor", 0))
        more = {"x-next-cursor": str(number + 1)} if number + 1 < len(pages) else {}
        return httpx.Response(200, text=HEAD + pages[number], headers=more)

    return answer


def test_a_list_is_one_file_with_one_header(stack: Stack, tmp_path: Path) -> None:
    first, second = '"cup.1","ann","says ""yes""\nand no"\r\n', '"cup.2","bob",""\r\n'
    stack.answers[WINNERS] = _paged(first, second)
    file = tmp_path / "winners.csv"

    told = stack.ask_json("winners", "export", "gala", "--prize", "cup", "--to", str(file))

    assert told == {"file": str(file), "count": 2}
    # Spreadsheets need the byte order mark.
    assert file.read_bytes().decode() == "\ufeff" + HEAD + first + second
    rows = list(csv.reader(io.StringIO(HEAD + first + second, newline="")))
    assert rows[1] == ["cup.1", "ann", 'says "yes"\nand no']
    requests = stack.sent(WINNERS)
    assert [request.url.params.get("cursor") for request in requests] == [None, "1"]
    assert {request.url.params["prize_id"] for request in requests} == {"cup"}
    assert {request.headers["accept"] for request in requests} == {"text/csv"}
    assert list(tmp_path.glob("*.part")) == []


def test_without_a_file_a_list_goes_to_standard_output_and_the_progress_to_standard_error(
    stack: Stack,
) -> None:
    stack.answers[WINNERS] = _paged('"cup.1","ann",""\r\n', '"cup.2","bob",""\r\n')

    result = stack.run("winners", "export", "gala")

    assert result.stdout.splitlines() == [HEAD.strip(), '"cup.1","ann",""', '"cup.2","bob",""']
    assert result.stderr.strip() == "1 rows so far"


def test_with_json_a_list_is_one_document(stack: Stack) -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        is_first = "cursor" not in request.url.params
        return _ok(items=[{"share_no": 1 if is_first else 2}], next="1" if is_first else None)

    stack.answers[f"GET /admin/packets/{PACKET}/claims"] = answer

    assert stack.ask_json("claims", "export", PACKET) == {
        "items": [{"share_no": 1}, {"share_no": 2}]
    }


def test_a_failed_page_is_requested_again_and_a_list_is_complete_or_absent(
    stack: Stack, tmp_path: Path
) -> None:
    answers = iter([_problem(503, "unavailable"), _problem(429, "rate_limited")])
    pages = _paged('"cup.1","ann",""\r\n')
    stack.answers[WINNERS] = lambda request: next(answers, None) or pages(request)
    file = tmp_path / "winners.csv"
    assert stack.run("winners", "export", "gala", "--to", str(file)).exit_code == 0

    before = file.read_bytes()
    stack.answers[WINNERS] = _problem(403, "forbidden")

    assert stack.run("winners", "export", "gala", "--to", str(file)).exit_code == 3
    assert stack.run("winners", "export", "gala", "--to", str(tmp_path)).exit_code == 3
    stack.answers[WINNERS] = pages
    assert stack.run("winners", "export", "gala", "--to", str(tmp_path)).exit_code == 5
    assert file.read_bytes() == before
    assert list(tmp_path.glob("*.part")) == []


def test_packets_are_exported_by_campaign_sender_and_status(stack: Stack) -> None:
    stack.answers["GET /admin/packets"] = _paged("")

    stack.run("packets", "export", "--campaign", "gala", "--sender", "a@b", "--status", "open")
    stack.run("packets", "export")

    named, all_ = (dict(request.url.params) for request in stack.sent("GET /admin/packets"))
    assert named == {"campaign_id": "gala", "sender": "a@b", "status": "open", "limit": "100"}
    assert all_ == {"limit": "100"}


def test_an_early_end_with_a_reason_is_repeated_until_there_is_an_answer(stack: Stack) -> None:
    path, ended = f"POST /admin/packets/{PACKET}/end", {"packet_id": PACKET, "status": "closing"}
    answers = iter([_problem(503, "unavailable")])
    stack.answers[path] = lambda _: next(answers, None) or httpx.Response(202, json=ended)

    told = stack.ask_json("packets", "end", PACKET, "--reason", "sent twice")

    assert told == ended
    assert [_body(request) for request in stack.sent(path)] == [{"reason": "sent twice"}] * 2
    assert stack.run("packets", "end", PACKET).exit_code == 2


def test_the_audit_log_is_read_up_to_the_requested_length(stack: Stack) -> None:
    did = {
        "at_ms": 0,
        "summary": "Ann turned switch send off",
        "changes": [
            {"field": "on", "before": "true", "after": "false"},
            {"field": "reason", "before": None, "after": "why"},
        ],
    }
    stack.answers["GET /admin/journal"] = _ok(items=[did] * 2, next="more")

    answer = stack.ask_json("journal", "list", "--subject", "switch:send", "--rows", "3")
    shown = stack.run("journal", "list", "--rows", "1").stdout

    assert len(answer["items"]) == 3
    assert len(stack.sent("GET /admin/journal")) == 3
    assert stack.sent("GET /admin/journal")[0].url.params["subject"] == "switch:send"
    assert "Ann turned switch send off" in shown
    assert "on: true -> false" in shown
    stack.answers["GET /admin/journal"] = _paged('"1","2","3"\r\n')
    assert stack.run("journal", "export").stdout.startswith('"unit"')


def test_approvals_are_listed_and_decided(stack: Stack) -> None:
    approval_id = "0" * 32
    waits = {
        "approval_id": approval_id,
        "summary": "ann asks to deposit ¥2,000,000.00 for bob",
        "amount_fen": 200_000_000,
        "asked_at_ms": 0,
        "status": "awaiting",
        "changes": [{"field": "case", "before": None, "after": "bank-7"}],
    }
    stack.answers["GET /admin/approvals"] = _ok(items=[waits], next=None)
    stack.answers[f"POST /admin/approvals/{approval_id}/approve"] = _ok(status="approved")
    stack.answers[f"POST /admin/approvals/{approval_id}/reject"] = _problem(403, "four_eyes")

    assert stack.ask_json("approvals", "list")["items"] == [waits]
    shown = stack.run("approvals", "list", "--status", "all").stdout
    assert "¥2,000,000.00" in shown
    assert "case: bank-7" in shown
    assert stack.ask_json("approvals", "approve", approval_id) == {"status": "approved"}
    assert stack.run("approvals", "reject", approval_id).exit_code == 3

    by_status = [request.url.params.get("status") for request in stack.sent("GET /admin/approvals")]
    assert by_status == ["awaiting", None]


def test_goods_are_marked_as_handed_over(stack: Stack) -> None:
    route = "PUT /admin/campaigns/gala/winners/cup.1"
    stack.answers[route] = _ok(unit="cup.1", status="handed_over")

    stack.ask_json("winners", "decide", "gala", "cup.1", "handed_over", "--note", "by mail")

    assert _body(stack.sent(route)[0]) == {"status": "handed_over", "note": "by mail"}


# ---- webhooks


TRIED = {"event_id": "evt_1", "type": "t", "at_ms": 0, "ok": False, "status": 500, "duration_ms": 3}
HOOK = {
    "name": "shop",
    "url": "https://shop.example/events",
    "is_on": True,
    "failure_count": 2,
    "last_success": None,
    "last_failure": TRIED,
}


def test_webhooks_are_listed_shown_and_put(stack: Stack) -> None:
    stack.answers["GET /admin/webhooks"] = _ok(items=[HOOK])
    stack.answers["GET /admin/webhooks/shop"] = _ok(**HOOK, waiting_count=3, dead_count=0)
    stack.answers["PUT /admin/webhooks/shop"] = _ok(**HOOK, secret="whsec_x")
    stack.answers["POST /admin/webhooks/shop/secret"] = _ok(secret="whsec_y")

    assert stack.ask_json("webhooks", "list") == {"items": [HOOK]}
    assert "(500)" in stack.run("webhooks", "list").stdout
    assert stack.ask_json("webhooks", "show", "shop")["waiting_count"] == 3
    put = ("webhooks", "put", "shop", HOOK["url"], "--event", "redpacket.draw.won", "--off")
    assert stack.ask_json(*map(str, put))["secret"] == "whsec_x"
    assert stack.ask_json("webhooks", "secret", "shop") == {"secret": "whsec_y"}

    body = _body(stack.sent("PUT /admin/webhooks/shop")[0])
    assert body == {"url": HOOK["url"], "events": ["redpacket.draw.won"], "is_on": False}
    assert stack.run("webhooks", "put", "shop", "https://a.example").exit_code == 2


def test_a_resumed_webhook_keeps_its_settings(stack: Stack) -> None:
    kept = {"url": HOOK["url"], "events": ["redpacket.draw.won"], "is_on": True}
    stack.answers["GET /admin/webhooks/shop"] = _ok(**{**HOOK, **kept}, waiting_count=3)
    stack.answers["PUT /admin/webhooks/shop"] = _ok(**{**HOOK, "failure_count": 0})

    assert stack.ask_json("webhooks", "resume", "shop")["failure_count"] == 0
    (request,) = stack.sent("PUT /admin/webhooks/shop")
    assert _body(request) == kept


@pytest.mark.parametrize("code", [0, 1])
def test_the_exit_code_of_a_test_is_the_answer_of_the_receiver(stack: Stack, code: int) -> None:
    stack.answers["POST /admin/webhooks/shop/test"] = _ok(**{**TRIED, "ok": code == 0})

    assert stack.ask_json("webhooks", "test", "shop", code=code)["ok"] is (code == 0)


def test_dead_letters_are_shown_and_replayed_to_the_end(stack: Stack) -> None:
    dead = {
        "event_id": "evt_1",
        "type": "redpacket.draw.won",
        "subject": "draw",
        "attempt_count": 40,
        "last_status": 500,
        "died_at_ms": 0,
    }
    counts = iter([(100, False), (20, True)])

    def replayed(_: httpx.Request) -> httpx.Response:
        count, is_complete = next(counts)
        return _ok(replayed_count=count, is_complete=is_complete)

    details = {"waiting_count": 0, "dead_count": 1, "dead_letters": [dead]}
    stack.answers["GET /admin/webhooks/shop"] = _ok(**HOOK, **details)
    stack.answers["POST /admin/webhooks/shop/replay"] = replayed

    answer = stack.ask_json("webhooks", "dead", "shop", code=1)
    assert "evt_1" in stack.run("webhooks", "dead", "shop").stdout

    assert answer == {"dead_count": 1, "items": [dead]}
    assert stack.ask_json("webhooks", "replay", "shop") == {"replayed_count": 120}


# ---- users


def test_a_user_is_erased_after_confirmation(stack: Stack) -> None:
    route = "DELETE /admin/users/corp|ann@host"
    stack.answers[route] = httpx.Response(202, json={"user_token": "token"})

    refused = stack.run("users", "erase", "corp|ann@host", stdin="n\n")
    result = stack.run("users", "erase", "corp|ann@host", stdin="y\n")
    answer = stack.ask_json("users", "erase", "corp|ann@host", "--yes")

    assert (refused.exit_code, result.exit_code) == (1, 0)
    assert answer == {"user_token": "token"}
    (first, _) = stack.sent(route)
    # The id stays one segment of the path, whatever characters it contains.
    assert first.url.raw_path == b"/admin/users/corp%7Cann%40host"
    assert stack.run("users", "erase", "../switches", "--yes").exit_code == 2


def test_campaign_money_is_moved_and_its_empty_account_unmarked(stack: Stack) -> None:
    path = "/admin/accounts/ann@host/campaign-money"
    stack.answers[f"POST {path}"] = httpx.Response(201, json={"transfer_id": "t", "balance_fen": 0})
    unmarked = {"user_token": "token", "is_for_campaigns": False}
    stack.answers[f"DELETE {path}"] = httpx.Response(200, json=unmarked)

    moved = stack.ask_json("money", "move", "ann@host", "bob", "--reason", "she left", "--key", "k")

    assert moved == {"transfer_id": "t", "balance_fen": 0}
    assert stack.ask_json("money", "unmark", "ann@host") == unmarked
    (sent,) = stack.sent(f"POST {path}")
    assert json.loads(sent.content) == {"user": "bob", "reason": "she left"}
    assert len(sent.headers["idempotency-key"]) > 0


def test_a_user_with_money_is_not_erased(stack: Stack) -> None:
    stack.answers["DELETE /admin/users/ann"] = _problem(409, "account_not_empty")

    result = stack.run("--json", "users", "erase", "ann", "--yes")

    assert result.exit_code == 3
    assert json.loads(result.stderr)["code"] == "account_not_empty"


def test_an_id_cannot_lead_to_another_route(stack: Stack) -> None:
    words: list[Any] = [
        ("winners", "export", "../packets"),
        ("approvals", "approve", "../x"),
        ("webhooks", "show", "a/b"),
    ]

    assert {stack.run(*word).exit_code for word in words} == {2}
    assert stack.requests == []


# ---- reports


NEW_YEAR_MS = 1_767_196_800_000
"""Start of 2026 in Shanghai, in epoch milliseconds."""


def _rains(stack: Stack) -> None:
    """Give one campaign three packets with claims around the start and the end of 2026."""
    year_ms = 365 * 86_400_000
    ids = [f"{PACKET[:-1]}{number}" for number in (1, 2, 3)]
    stack.answers["GET /admin/campaigns"] = _ok(
        items=[{"campaign_id": "gala"}, {"campaign_id": "quiet"}], next=None
    )
    # All packets ended at New Year, and the second one's claim was recorded 4 ms later.
    ends = {"created_at_ms": NEW_YEAR_MS - 1_000, "expires_at_ms": NEW_YEAR_MS}
    stack.answers["GET /admin/packets"] = lambda request: _ok(
        items=[{"packet_id": None, "packet_ref": packet_id, **ends} for packet_id in ids]
        if request.url.params["campaign_id"] == "gala"
        else [],
        next=None,
    )
    late, first = _claim("ann", 500, NEW_YEAR_MS - 1), _claim("ann", 300, NEW_YEAR_MS)
    number = _claim("00123", 50, NEW_YEAR_MS + year_ms - 1)

    def claims(request: httpx.Request) -> httpx.Response:
        if "cursor" in request.url.params:
            return _ok(items=[number], next=None)
        return _ok(items=[late, first], next="2")

    stack.answers[f"GET /admin/packets/{ids[0]}/claims"] = claims
    for packet_id, amount_fen, at_ms in (
        (ids[1], 7, NEW_YEAR_MS + 4),
        (ids[2], 9, NEW_YEAR_MS + year_ms),
    ):
        stack.answers[f"GET /admin/packets/{packet_id}/claims"] = _ok(
            items=[_claim("ann", amount_fen, at_ms)], next=None
        )


def _claim(user: str, amount_fen: int, claimed_at_ms: int) -> dict[str, Any]:
    return {
        "user": user,
        "user_token": f"-t-{user}",
        "amount_fen": amount_fen,
        "claimed_at_ms": claimed_at_ms,
    }


TAX = [
    *('"campaign_id","year","user","user_token","claim_count","total_fen","total_yuan"',),
    *('"gala",2026,"00123","-t-00123",1,50,"0.50"',),
    *('"gala",2026,"ann","-t-ann",2,307,"3.07"',),
]


def test_a_year_of_claims_is_summed_by_campaign_and_user(stack: Stack, tmp_path: Path) -> None:
    _rains(stack)
    file = tmp_path / "tax.csv"

    told = stack.ask_json("report", "tax", "--year", "2026", "--to", str(file))

    assert told == {"file": str(file), "count": 2}
    # Withholding tax is left to the host.
    head, *lines = [line.rpartition(",") for line in file.read_text("utf-8-sig").splitlines()]
    assert (head[2], {line[2] for line in lines}) == ('"withholding"', {'""'})
    assert [line[0] for line in (head, *lines)] == TAX


def test_a_sheet_keeps_ids_as_texts_and_sums_as_numbers(stack: Stack, tmp_path: Path) -> None:
    _rains(stack)
    file = tmp_path / "tax.xlsx"

    told = stack.ask_json("report", "tax", "--year", "2026", "--to", str(file))

    assert told == {"file": str(file), "count": 2}
    head, *rows = load_workbook(file).active.values
    assert head[2:] == (
        "user",
        "user_token",
        "claim_count",
        "total_fen",
        "total_yuan",
        "withholding",
    )
    assert rows == [
        ("gala", 2026, "00123", "-t-00123", 1, 50, 0.5, None),
        ("gala", 2026, "ann", "-t-ann", 2, 307, 3.07, None),
    ]


def test_a_list_is_a_sheet_with_the_columns_of_its_csv(stack: Stack, tmp_path: Path) -> None:
    items = [
        {
            "user": "12345678901234567890",
            "note": note,
            "decided_at_ms": at_ms,
            "won": True,
            "changes": [1],
            "more": 0,
        }
        for note, at_ms in (("=1+1", 1_767_196_800_000), ("https://a.example", None))
    ]
    columns = '"user","note","decided_at_ms","won","changes"\r\n'

    def answer(request: httpx.Request) -> httpx.Response:
        if request.headers["accept"] == "text/csv":
            return httpx.Response(200, text=columns)
        number = int(request.url.params.get("cursor", 0))
        return _ok(items=items[number : number + 1], next="1" if number == 0 else None)

    stack.answers[WINNERS] = answer
    file = tmp_path / "winners.XLSX"

    told = stack.ask_json("winners", "export", "gala", "--to", str(file))

    assert told == {"file": str(file), "count": 2}
    sheet = load_workbook(file).active
    at = datetime.fromtimestamp(1_767_196_800).replace(tzinfo=None)  # noqa: DTZ006 - as terminals do
    assert list(sheet.values) == [
        ("user", "note", "decided_at", "won", "changes"),
        ("12345678901234567890", "=1+1", at, "true", "[1]"),
        ("12345678901234567890", "https://a.example", None, "true", "[1]"),
    ]
    assert {cell.data_type for cell in sheet["B"]} == {"s"}
    assert sheet["C2"].number_format == "yyyy-mm-dd hh:mm:ss"
    assert list(tmp_path.glob("winners*")) == [file]


def test_more_rows_than_a_sheet_holds_are_refused_and_nothing_is_stored(
    stack: Stack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _rains(stack)
    monkeypatch.setattr(files, "SHEET_ROWS_MAX", 2)

    result = stack.run("report", "tax", "--year", "2026", "--to", str(tmp_path / "tax.xlsx"))

    assert (result.exit_code, "Name a .csv file" in result.stderr) == (5, True)
    assert list(tmp_path.glob("tax*")) == []


def test_a_year_of_one_campaign_is_one_document(stack: Stack) -> None:
    _rains(stack)

    told = stack.ask_json("report", "tax", "--year", "2026", "--campaign", "quiet")

    assert told == {"items": []}
    assert stack.sent("GET /admin/campaigns") == []
    result = stack.run("report", "tax", "--year", "2026", "--timezone", "Mars")
    assert (result.exit_code, "not a time zone" in result.stderr) == (5, True)


def test_campaigns_and_packets_are_listed(stack: Stack) -> None:
    gala = {"campaign_id": "gala", "title": "Gala", "status": "on", "starts_at_ms": 0}
    gala |= {"ends_at_ms": 1, "budget_fen": 100_000, "budget_left_fen": 1}
    sent: dict[str, Any] = {
        "packet_id": "P",
        "sender": "ann",
        "sender_token": "t",
        "status": "open",
    }
    sent |= {"total_fen": 8_888, "count": 3, "created_at_ms": 0, "sender_name": "Ann"}
    stack.answers["GET /admin/campaigns"] = _ok(items=[gala], next=None)
    stack.answers["GET /admin/packets"] = _ok(items=[sent], next=None)

    assert stack.ask_json("campaign", "list")["items"] == [gala]
    assert "¥1,000.00" in stack.run("campaign", "list").stdout
    for name in ("packets", "packet"):
        listed = stack.run(name, "list", "--campaign", "gala").stdout
        assert "¥88.88" in listed
        assert 'ann "Ann"' in listed
    assert dict(stack.sent("GET /admin/packets")[0].url.params)["campaign_id"] == "gala"


def test_a_packet_without_an_id_is_listed_and_looked_up_by_its_reference(stack: Stack) -> None:
    row: dict[str, Any] = {"packet_id": None, "packet_ref": "AXyz", "sender": "ann"}
    row |= {"sender_name": "Ann", "status": "open", "total_fen": 1, "count": 1, "created_at_ms": 0}
    stack.answers["GET /admin/packets"] = _ok(items=[row], next=None)

    listed = stack.run("packets", "list", "--packet", "AXyz").stdout

    assert "AXyz" in listed
    assert dict(stack.sent("GET /admin/packets")[0].url.params)["packet"] == "AXyz"


class Athena:
    """Athena whose queries fail, or return two pages each."""

    def __init__(self, *states: str) -> None:
        self.states = iter(states)
        self.requests: dict[str, Any] = {}

    def start_query_execution(self, **arguments: Any) -> dict[str, str]:
        self.requests = arguments
        return {"QueryExecutionId": "1"}

    def get_query_execution(self, **_asked: str) -> dict[str, Any]:
        status = {"State": next(self.states), "StateChangeReason": "no such view"}
        return {"QueryExecution": {"Status": status}}

    def get_query_results(self, NextToken: str = "", **_asked: str) -> dict[str, Any]:  # noqa: N803
        cells: list[list[str | None]] = [["-user"], [None]] if NextToken else [["account"], ["ann"]]
        rows = [
            {"Data": [{} if cell is None else {"VarCharValue": cell} for cell in row]}
            for row in cells
        ]
        return {"ResultSet": {"Rows": rows}, **({} if NextToken else {"NextToken": "2"})}


def test_a_report_is_a_table_json_or_csv(stack: Stack) -> None:
    stack.clients["athena"] = athena = Athena(*["RUNNING", "SUCCEEDED"] * 3)

    told = stack.ask_json("report", "dormant")
    assert told == {"items": [{"account": name} for name in ("ann", "-user", "")]}
    assert "-user" in stack.run("report", "dormant").stdout
    # An account is an id, so CSV does not escape it as a formula.
    assert stack.run("report", "dormant", "--csv").stdout.split() == [
        *('"account"', '"ann"', '"-user"', '""')
    ]
    assert athena.requests == {
        "QueryString": "SELECT * FROM reports.dormant",
        "WorkGroup": "workgroup",
        "QueryExecutionContext": {"Database": "reports"},
    }


def test_a_report_without_a_run_names_the_next_step(stack: Stack) -> None:
    stack.clients["athena"] = Athena("FAILED")

    result = stack.run("report", "winners")

    assert result.exit_code == 4
    assert (
        "winners can't be read: no such view. Create it with `redpacket reconcile`" in result.stderr
    )
