"""HTTP handler for read-only pages: packet records, the public log and the caller's lists."""

from __future__ import annotations

from typing import TYPE_CHECKING

from redpacket.fairness.api import log_pages
from redpacket.packets.api import pages, views
from redpacket.packets.api.packet_ids import packet_id_of, picture_id_of
from redpacket.packets.errors import PacketNotFound, PictureNotFound, ProofNotReady
from redpacket.platform.errors import RateLimited
from redpacket.platform.http.api import Api, HttpAnswer
from redpacket.platform.http.entity_tags import known_tags_of
from redpacket.platform.http.request import HttpRequest

if TYPE_CHECKING:
    from redpacket.fairness.api.answers import Checkpoint, LogConsistency, LogInclusion, LogPage
    from redpacket.operations.api.answers import Health
    from redpacket.packets.api.answers import (
        Feed,
        PictureFile,
        Proof,
        Received,
        Record,
        Sent,
        Transfers,
    )

_READING = (RateLimited,)

handler = Api()


@handler.route(
    "GET /packets/{packet_id}",
    parameters=(packet_id_of, views.claim_cursor_of, pages.limit_of, known_tags_of),
    refusals=(PacketNotFound, *_READING),
    caching=pages.RECORD_CACHING,
)
def read_packet(request: HttpRequest) -> HttpAnswer[Record]:
    """Show a packet and a page of its claims."""
    return pages.record_page(request)


@handler.route(
    "GET /packets/{packet_id}/feed",
    parameters=(packet_id_of, views.claim_cursor_of, pages.limit_of, known_tags_of),
    refusals=(PacketNotFound, *_READING),
    is_public=True,
    caching=pages.FEED_CACHING,
)
def read_feed(request: HttpRequest) -> HttpAnswer[Feed]:
    """Show a packet to anyone who has its id."""
    return pages.feed_page(request)


@handler.route(
    "GET /packets/{packet_id}/preview",
    parameters=(packet_id_of,),
    refusals=(PacketNotFound,),
    is_public=True,
)
def read_preview(request: HttpRequest) -> HttpAnswer[str]:
    """Return the HTML from which chats preview a packet's link; it has no amounts."""
    return pages.preview_page(request)


@handler.route(
    "GET /packets/{packet_id}/proof",
    parameters=(packet_id_of, pages.proof_cursor_of, pages.proof_limit_of),
    refusals=(PacketNotFound, ProofNotReady, *_READING),
)
def read_proof(request: HttpRequest) -> HttpAnswer[Proof]:
    """Reveal the seed and every amount of a packet that has ended."""
    return pages.proof_page(request)


@handler.route(
    "GET /transparency",
    parameters=(log_pages.cursor_of, known_tags_of),
    refusals=_READING,
    is_public=True,
    caching=log_pages.LOG_CACHING,
)
def read_log(request: HttpRequest) -> HttpAnswer[LogPage]:
    """Show the log of commitments to anyone, with its signed head."""
    return log_pages.entries_page(request)


@handler.route(
    "GET /transparency/proof",
    parameters=(log_pages.id_hash_of, log_pages.size_of, known_tags_of),
    refusals=(PacketNotFound, *_READING),
    is_public=True,
    caching=log_pages.PROOF_CACHING,
)
def prove_inclusion(request: HttpRequest) -> HttpAnswer[LogInclusion]:
    """Prove that the log contains the commitment of a packet or a campaign."""
    page = log_pages.inclusion_page(request)
    if page is None:
        raise PacketNotFound("the log of this size has no entry with this hash")
    return page


@handler.route(
    "GET /transparency/consistency",
    parameters=(log_pages.from_of, log_pages.to_of, known_tags_of),
    refusals=_READING,
    is_public=True,
    caching=log_pages.PROOF_CACHING,
)
def prove_consistency(request: HttpRequest) -> HttpAnswer[LogConsistency]:
    """Prove that a later log extends an earlier one."""
    return log_pages.consistency_page(request)


@handler.route(
    "GET /transparency/checkpoint",
    parameters=(known_tags_of,),
    refusals=_READING,
    is_public=True,
    caching=log_pages.LOG_CACHING,
)
def read_checkpoint(request: HttpRequest) -> HttpAnswer[Checkpoint]:
    """Show the log's signed head as a note in C2SP's tlog-checkpoint format."""
    return log_pages.checkpoint_page(request)


@handler.route(
    "GET /transparency/tile/{proxy+}",
    parameters=(log_pages.tile_path_of,),
    refusals=(PacketNotFound, *_READING),
    is_public=True,
)
def read_tile(request: HttpRequest) -> HttpAnswer[bytes]:
    """Show a tile of the log's hashes or a bundle of its entries, in C2SP's tlog-tiles format."""
    page = log_pages.tile_page(request)
    if page is None:
        raise PacketNotFound("the signed log has no such tile")
    return page


@handler.route(
    "GET /pictures/{picture_id}",
    parameters=(picture_id_of,),
    refusals=(PictureNotFound,),
    is_public=True,
)
def read_picture(request: HttpRequest) -> HttpAnswer[PictureFile]:
    """Show an uploaded picture."""
    return pages.picture_page(request)


@handler.route("GET /me/sent", parameters=(pages.year_of, pages.sent_cursor_of), refusals=_READING)
def read_sent(request: HttpRequest) -> HttpAnswer[Sent]:
    """List the packets that the caller sent."""
    return pages.sent_page(request)


@handler.route(
    "GET /me/received", parameters=(pages.year_of, pages.entry_cursor_of), refusals=_READING
)
def read_received(request: HttpRequest) -> HttpAnswer[Received]:
    """List the shares that the caller received."""
    return pages.received_page(request)


@handler.route(
    "GET /me/transfers", parameters=(pages.entry_cursor_of, pages.limit_of), refusals=_READING
)
def read_transfers(request: HttpRequest) -> HttpAnswer[Transfers]:
    """List the caller's transfers."""
    return pages.transfers_page(request)


@handler.route("GET /health", is_public=True)
def read_health(request: HttpRequest) -> HttpAnswer[Health]:
    """Return the version of the API."""
    return pages.health(request)
