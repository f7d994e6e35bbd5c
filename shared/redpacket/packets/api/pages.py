"""Pages of the records handler."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

import redpacket
from redpacket.containers import containers
from redpacket.ledger.model import user_account
from redpacket.ledger.ports import ENTRY_CURSOR
from redpacket.operations.api import guards
from redpacket.packets.api import link_preview, views
from redpacket.packets.api.packet_ids import packet_id_of, picture_id_of
from redpacket.packets.errors import PacketNotFound, PictureNotFound
from redpacket.packets.model.packet import Packet
from redpacket.packets.ports import SENT_CURSOR
from redpacket.packets.use_cases.read_proof import read_proof
from redpacket.packets.use_cases.read_records import Record, list_received, list_sent, read_record
from redpacket.platform.bounds import (
    CURSOR_MAX,
    LIMIT_DEFAULT,
    LIMIT_MAX,
    PROOF_LIMIT_DEFAULT,
    PROOF_LIMIT_MAX,
)
from redpacket.platform.http.api import HttpAnswer
from redpacket.platform.http.entity_tags import known_tags_of, tagged
from redpacket.platform.http.parameters import cursor, integer
from redpacket.platform.http.request import HttpRequest
from redpacket.platform.settings import settings
from redpacket.platform.unit import Unit
from redpacket.platform.user import User

if TYPE_CHECKING:
    from redpacket.operations.api import answers as operators
    from redpacket.packets.api import answers as packets

YEAR_FIRST, YEAR_LAST = 2020, 2200
_PAGES_SEEN_AFTER_MS = 10_000
"""Milliseconds after a packet's close during which a read may miss its final pages."""

RECORD_CACHING = ("private, no-cache",)
FEED_CACHING = ("public, max-age=1", "public, max-age=3600")
PICTURE_CACHING = "public, max-age=3600"

year_of = integer(
    "year", YEAR_FIRST, YEAR_LAST, missing=None, meaning="A UTC year; all years if omitted."
)
limit_of = integer("limit", 1, LIMIT_MAX, missing=LIMIT_DEFAULT, meaning="Maximum items per page.")
proof_limit_of = integer(
    "limit", 1, PROOF_LIMIT_MAX, missing=PROOF_LIMIT_DEFAULT, meaning="Maximum amounts per page."
)
sent_cursor_of = cursor(SENT_CURSOR)
entry_cursor_of = cursor(ENTRY_CURSOR)
proof_cursor_of = integer(
    "cursor", 0, CURSOR_MAX, missing=0, meaning="`next` from the previous page."
)


def record_page(request: HttpRequest) -> HttpAnswer[packets.Record]:
    """Return a packet and a page of its claims."""
    packet_id, viewer = packet_id_of(request), request.user
    guards.guard_read(request)
    record = _read(request, packet_id, viewer)
    if not request.query and not known_tags_of(request):  # Count neither further pages nor polls.
        containers.platform.logger.count("visited")
    headers = {"cache-control": RECORD_CACHING[0]}
    return tagged(views.record_view(record, _users_of(record, viewer)), request, headers)


def feed_page(request: HttpRequest) -> HttpAnswer[packets.Feed]:
    """Return a packet to readers without a token; edge caches may store the page.

    Raises PacketNotFound for missing, exclusive and prize packets.
    """
    record = _read(request, packet_id_of(request), None)
    if record.packet.rules.prize_id:
        raise PacketNotFound
    headers = {"cache-control": _feed_caching(record.packet)}
    return tagged(views.feed_view(record, _users_of(record)), request, headers)


def preview_page(request: HttpRequest) -> HttpAnswer[str]:
    """Return the HTML preview of a packet link, for chats."""
    packet_id = packet_id_of(request)
    packet = containers.packets.repository.find_packet(packet_id)
    preview = link_preview.NEUTRAL
    if packet and not packet.rules.prize_id and not packet.rules.is_exclusive:
        sender = _presenter([packet.sender]).public_view(packet.sender)
        preview = link_preview.preview_of(packet.greeting, sender["nickname"], packet.cover_url)
    base_url = containers.platform.settings.share_base_url
    headers = {
        "content-type": link_preview.CONTENT_TYPE,
        "cache-control": link_preview.CACHING,
        **link_preview.SECURITY_HEADERS,
    }
    return HttpAnswer(link_preview.page_of(preview, packet_id, base_url), headers=headers)


def picture_page(request: HttpRequest) -> HttpAnswer[packets.PictureFile]:
    """Return an uploaded picture with headers that stop browsers from treating it as a page.

    Raises PictureNotFound. Caches keep a picture for at most an hour: operators may remove it.
    """
    picture = containers.packets.pictures.find(picture_id_of(request))
    if picture is None:
        raise PictureNotFound
    headers = {
        "content-type": picture.media_type,
        "cache-control": PICTURE_CACHING,
        **link_preview.SECURITY_HEADERS,
    }
    return HttpAnswer(cast("packets.PictureFile", picture.content), headers=headers)


def _feed_caching(packet: Packet) -> str:
    # Shortly after a packet was closed, an eventually consistent read may miss a final page.
    is_settled = (
        containers.platform.clock.now_ms() - (packet.closed_at_ms or 0) > _PAGES_SEEN_AFTER_MS
    )
    # Even a closed packet's page can change, because a nickname may be erased.
    while_open, once_closed = FEED_CACHING
    return once_closed if packet.end and is_settled else while_open


def _read(request: HttpRequest, packet_id: str, viewer: User | None) -> Record:
    return read_record(
        packet_id,
        viewer,
        after_no=views.claim_cursor_of(request),
        limit=limit_of(request),
        packets=containers.packets.repository,
        pages=containers.packets.pages,
    )


def _users_of(record: Record, viewer: User | None = None) -> views.UserPresenter:
    """Return a presenter with the page's profiles, because packets and shares have no names."""
    shares = [*record.claims, record.luckiest, record.mine]
    claimers = [share.claimer for share in shares if share and share.claimer]
    return _presenter([record.packet.sender, *claimers], viewer)


def _presenter(users: Sequence[User], viewer: User | None = None) -> views.UserPresenter:
    profiles = containers.users.shown_profiles.list_profiles([person.user_id for person in users])
    return views.UserPresenter(profiles, viewer)


def proof_page(request: HttpRequest) -> HttpAnswer[packets.Proof]:
    """Return a packet's seed and a page of its amounts by share number."""
    packet_id, viewer = packet_id_of(request), request.user
    guards.guard_read(request)
    limit, after_no = proof_limit_of(request), proof_cursor_of(request)
    proof = read_proof(
        packet_id, viewer, after_no=after_no, limit=limit, packets=containers.packets.repository
    )
    return HttpAnswer(views.proof_view(proof))


def sent_page(request: HttpRequest) -> HttpAnswer[packets.Sent]:
    """Return the packets that the caller sent, newest first, with the list's totals."""
    guards.guard_read(request)
    page = list_sent(
        request.user.user_id,
        year_of(request),
        sent_cursor_of(request),
        packets=containers.packets.repository,
        pages=containers.packets.pages,
        ledger=containers.packets.ledger,
        in_parallel=containers.platform.in_parallel,
    )
    return HttpAnswer(views.sent_list_view(page))


def received_page(request: HttpRequest) -> HttpAnswer[packets.Received]:
    """Return the shares that the caller received, newest first, with the list's totals."""
    guards.guard_read(request)
    page = list_received(
        request.user.user_id,
        year_of(request),
        entry_cursor_of(request),
        pages=containers.packets.pages,
        ledger=containers.packets.ledger,
    )
    senders = _presenter([received.packet.sender for received in page.items])
    return HttpAnswer(views.received_list_view(page, senders))


def transfers_page(request: HttpRequest) -> HttpAnswer[packets.Transfers]:
    """Return the entries of the caller's account, newest first."""
    guards.guard_read(request)
    account = user_account(request.user.user_id)
    entries, next_cursor = containers.packets.ledger.list_entries(
        account, entry_cursor_of(request), limit_of(request)
    )
    return HttpAnswer(views.transfers_view(entries, next_cursor))


def health(request: HttpRequest) -> HttpAnswer[operators.Health]:  # noqa: ARG001 - a route takes a request
    """Return the API's health and version, and the unit of account if it is not the yuan."""
    shown: operators.Health = {"status": "ok", "version": redpacket.__version__}
    if settings.unit != Unit():
        shown["unit"] = cast("operators.UnitOfAccount", settings.unit._asdict())
    return HttpAnswer(shown)
