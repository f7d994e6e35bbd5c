"""The pages of the records door: paging, entity tags, and people instead of ids."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import redpacket
from redpacket.domain.errors import InvalidRequest
from redpacket.domain.ledger import user_account
from redpacket.edge import views, wiring
from redpacket.edge.api import HttpAnswer, HttpRequest
from redpacket.flows.read_proof import read_proof
from redpacket.flows.read_records import list_received, list_sent, read_record

LIMIT_DEFAULT = 50
LIMIT_MAX = 100
YEAR_FIRST, YEAR_LAST = 2020, 2200
CURSOR_MAX = 10**7
"""Over any share number, which is what the cursor of a record page or a proof is."""

PROOF_LIMIT_DEFAULT = 10_000
PROOF_LIMIT_MAX = 100_000
"""1.4 MB of the largest amounts; Lambda answers with 6 MB at most."""


def record_page(request: HttpRequest) -> HttpAnswer:
    """Show a packet with its claims by share number, *limit* of them after *cursor*."""
    limit = _integer(request, "limit", 1, LIMIT_MAX) or LIMIT_DEFAULT
    record = read_record(
        request.packet_id,
        request.user,
        after_no=_place(request),
        limit=limit,
        packets=wiring.packets(),
        pages=wiring.pages(),
    )
    shown = [record.packet.sender, *(share.taker for share in record.claims if share.taker)]
    shown += [record.luckiest.taker] if record.luckiest and record.luckiest.taker else []
    shown += [request.user]
    profiles = wiring.profiles().list_profiles([person.user_id for person in shown])
    people = views.People(profiles, wiring.public_tokens())
    return _tagged(views.record_view(record, people), request)


def proof_page(request: HttpRequest) -> HttpAnswer:
    """Show a packet's seed and its amounts by share number, *limit* of them after *cursor*."""
    limit = _integer(request, "limit", 1, PROOF_LIMIT_MAX) or PROOF_LIMIT_DEFAULT
    after_no = _integer(request, "cursor", 0, CURSOR_MAX) or 0
    proof = read_proof(request.packet_id, after_no=after_no, limit=limit, packets=wiring.packets())
    return HttpAnswer(views.proof_view(proof))


def sent_page(request: HttpRequest) -> HttpAnswer:
    """Show what the caller sent, newest first, with the year's totals."""
    user_id, year, cursor = _list_query(request)
    page = list_sent(
        user_id,
        year,
        cursor,
        packets=wiring.packets(),
        pages=wiring.pages(),
        ledger=wiring.ledger(),
    )
    return HttpAnswer(views.list_view(page, "total_fen"))


def received_page(request: HttpRequest) -> HttpAnswer:
    """Show what the caller was paid, newest first, with the year's totals."""
    user_id, year, cursor = _list_query(request)
    page = list_received(user_id, year, cursor, pages=wiring.pages(), ledger=wiring.ledger())
    return HttpAnswer(views.list_view(page, "amount_fen"))


def transfers_page(request: HttpRequest) -> HttpAnswer:
    """Show the caller's book, newest first."""
    account = user_account(request.user.user_id)
    limit = _integer(request, "limit", 1, LIMIT_MAX) or LIMIT_DEFAULT
    cursor = request.query.get("cursor")
    entries, next_cursor = wiring.ledger().list_entries(account, cursor, limit)
    return HttpAnswer(views.transfers_view(entries, next_cursor))


def health(request: HttpRequest) -> HttpAnswer:  # noqa: ARG001 - a route takes a request
    """Tell that the API answers, and which version."""
    return HttpAnswer({"status": "ok", "version": redpacket.__version__})


def _list_query(request: HttpRequest) -> tuple[str, int | None, str | None]:
    year = _integer(request, "year", YEAR_FIRST, YEAR_LAST)
    return request.user.user_id, year, request.query.get("cursor")


def _place(request: HttpRequest) -> int:
    """Read the cursor of a page of claims: a share number, or "p" and a partition's."""
    text = request.query.get("cursor", "")
    if not text.startswith("p"):
        return _integer(request, "cursor", 0, CURSOR_MAX) or 0
    digits = text[1:]
    if not (digits.isascii() and digits.isdigit() and len(digits) <= 2):  # noqa: PLR2004 - PARTS_MAX
        raise InvalidRequest([{"field": "cursor", "message": "is not a valid cursor of this list"}])
    return -int(digits)


def _integer(request: HttpRequest, name: str, low: int, high: int) -> int | None:
    text = request.query.get(name)
    if text is None:
        return None
    if not (text.isascii() and text.isdigit() and len(text) < 10 and low <= int(text) <= high):  # noqa: PLR2004 - digits of a sane integer
        raise InvalidRequest([{"field": name, "message": f"is not an integer in {low}..{high}"}])
    return int(text)


def _tagged(body: dict[str, Any], request: HttpRequest) -> HttpAnswer:
    """Answer 304 where the caller has this very page already."""
    digest = hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()[:32]
    headers = {"etag": f'"{digest}"', "cache-control": "private, no-cache"}
    if headers["etag"] in request.headers.get("if-none-match", ""):
        return HttpAnswer(None, status=304, headers=headers)
    return HttpAnswer(body, headers=headers)
