"""The pages of the records door: paging, entity tags, and people instead of ids."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any

import redpacket
from redpacket.domain.errors import InvalidRequest, PacketNotFound
from redpacket.domain.ledger import user_account
from redpacket.domain.packet import Packet, Person
from redpacket.edge import guards, views, wiring
from redpacket.edge.api import HttpAnswer, HttpRequest
from redpacket.edge.packet_ids import packet_id_of
from redpacket.flows.packets.read_proof import read_proof
from redpacket.flows.packets.read_records import Record, list_received, list_sent, read_record

LIMIT_DEFAULT = 50
LIMIT_MAX = 100
YEAR_FIRST, YEAR_LAST = 2020, 2200
CURSOR_MAX = 10**7
"""Over any share number, which is what the cursor of a proof is."""

CLAIM_CURSOR = "^(p[0-9]{1,2}|[0-9]{1,8})$"
"""A share number; "p" and a number where a packet in parts goes on with the next partition."""

_PAGES_SEEN_AFTER_MS = 10_000
"""So long after the close every replica of the ledger has the final pages, and far longer."""

PROOF_LIMIT_DEFAULT = 10_000
PROOF_LIMIT_MAX = 100_000
"""1.4 MB of the largest amounts; Lambda answers with 6 MB at most."""


def record_page(request: HttpRequest) -> HttpAnswer:
    """Show a packet with a page of its claims, *limit* of them after *cursor*."""
    packet_id, viewer = packet_id_of(request), request.user
    guards.guard_read(request)
    record = _read(request, packet_id, viewer)
    headers = {"cache-control": "private, no-cache"}
    return _tagged(views.record_view(record, _people(record)), request, headers)


def feed_page(request: HttpRequest) -> HttpAnswer:
    """Show the same to everybody, without a token: caches at the edge may keep it for a second.

    Raises PacketNotFound, also of packets for some recipients, and of prizes.
    """
    record = _read(request, packet_id_of(request), None)
    if record.packet.rules.prize_id:
        raise PacketNotFound("no such packet")
    headers = {"cache-control": f"public, max-age={_kept_s(record.packet)}"}
    return _tagged(views.feed_view(record, _people(record)), request, headers)


def _kept_s(packet: Packet) -> int:
    """Return how long caches at the edge may keep the feed of a packet."""
    # Its final pages are not read strongly: one of them may be missing for a moment.
    is_settled = wiring.clock.now_ms() - (packet.closed_at_ms or 0) > _PAGES_SEEN_AFTER_MS
    # A closed packet never changes, but a nickname may have to go.
    return 3600 if packet.end and is_settled else 1


def _read(request: HttpRequest, packet_id: str, viewer: Person | None) -> Record:
    return read_record(
        packet_id,
        viewer,
        after_no=_place(request),
        limit=_integer(request, "limit", 1, LIMIT_MAX) or LIMIT_DEFAULT,
        packets=wiring.packets(),
        pages=wiring.pages(),
    )


def _people(record: Record) -> views.People:
    """Return all whom a page shows, by the rows of their own: money rows have no names."""
    shares = [*record.claims, record.luckiest, record.mine]
    people = [record.packet.sender, *(share.taker for share in shares if share)]
    return views.People(
        wiring.shown_profiles().list_profiles([person.user_id for person in people if person])
    )


def proof_page(request: HttpRequest) -> HttpAnswer:
    """Show a packet's seed and its amounts by share number, *limit* of them after *cursor*."""
    packet_id, viewer = packet_id_of(request), request.user
    guards.guard_read(request)
    limit = _integer(request, "limit", 1, PROOF_LIMIT_MAX) or PROOF_LIMIT_DEFAULT
    after_no = _integer(request, "cursor", 0, CURSOR_MAX) or 0
    proof = read_proof(packet_id, viewer, after_no=after_no, limit=limit, packets=wiring.packets())
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
    guards.guard_read(request)
    account = user_account(request.user.user_id)
    limit = _integer(request, "limit", 1, LIMIT_MAX) or LIMIT_DEFAULT
    cursor = request.query.get("cursor")
    entries, next_cursor = wiring.ledger().list_entries(account, cursor, limit)
    return HttpAnswer(views.transfers_view(entries, next_cursor))


def health(request: HttpRequest) -> HttpAnswer:  # noqa: ARG001 - a route takes a request
    """Tell that the API answers, and which version."""
    return HttpAnswer({"status": "ok", "version": redpacket.__version__})


def _list_query(request: HttpRequest) -> tuple[str, int | None, str | None]:
    guards.guard_read(request)
    year = _integer(request, "year", YEAR_FIRST, YEAR_LAST)
    return request.user.user_id, year, request.query.get("cursor")


def _place(request: HttpRequest) -> int:
    """Read where a page of claims begins: after a share, or, below 0, at a partition."""
    text = request.query.get("cursor", "0")
    if not re.fullmatch(CLAIM_CURSOR, text, re.ASCII) or text.endswith("\n"):
        raise InvalidRequest([{"field": "cursor", "message": "is not a valid cursor of this list"}])
    return -int(text[1:]) if text.startswith("p") else int(text)


def _integer(request: HttpRequest, name: str, low: int, high: int) -> int | None:
    text = request.query.get(name)
    if text is None:
        return None
    if not (text.isascii() and text.isdigit() and len(text) < 10 and low <= int(text) <= high):  # noqa: PLR2004 - digits of a sane integer
        raise InvalidRequest([{"field": name, "message": f"is not an integer in {low}..{high}"}])
    return int(text)


def _tagged(body: dict[str, Any], request: HttpRequest, headers: Mapping[str, str]) -> HttpAnswer:
    """Answer 304 where the caller has this very page already."""
    digest = hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()[:32]
    headers = {"etag": f'"{digest}"', **headers}
    if headers["etag"] in request.headers.get("if-none-match", ""):
        return HttpAnswer(None, status=304, headers=headers)
    return HttpAnswer(body, headers=headers)
