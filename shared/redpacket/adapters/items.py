"""The one mapper between domain values and the rows of PacketsTable (docs/adr/0003)."""

from __future__ import annotations

from typing import Any

from redpacket.adapters import keys
from redpacket.adapters.dynamo import Value
from redpacket.domain.claim import Fate, ShareFate, ShareRef, Taker
from redpacket.domain.packet import Kind, Opening, Packet, PacketStatus, Person, Rules
from redpacket.domain.passphrase import THRESHOLD_DEFAULT
from redpacket.domain.split import Terms


def packet_row(packet: Packet) -> dict[str, Value]:
    """Return the row of a packet that was just sent: not loaded yet."""
    row: dict[str, Value] = {
        **keys.packet(packet.packet_id),
        "packet_id": packet.packet_id,
        "sender_id": packet.sender.user_id,
        "kind": packet.kind,
        "opening": packet.rules.opening,
        "greeting": packet.greeting,
        "terms": str(packet.terms),
        "total_fen": packet.terms.total_fen,
        "created_at_ms": packet.created_at_ms,
        "starts_at_ms": packet.starts_at_ms,
        "expires_at_ms": packet.expires_at_ms,
        "status": packet.status,
        "is_loaded": False,
        "refunded_fen": 0,
        "work_pk": keys.work("load", keys.work_shard(packet.packet_id)),
        "work_at_ms": packet.created_at_ms,
        "list_pk": keys.sent_list(packet.sender.user_id),
        "list_sk": keys.list_position(packet.created_at_ms, packet.packet_id),
    }
    if packet.sender.nickname:
        row["sender_nickname"] = packet.sender.nickname
    if packet.rules.recipients:
        # User ids hold no commas (domain/packet.USER_ID).
        row["recipients"] = ",".join(sorted(packet.rules.recipients))
    if packet.rules.passphrase:
        row["passphrase"] = packet.rules.passphrase
        row["passphrase_threshold"] = packet.rules.passphrase_threshold
    if packet.rules.campaign_id:
        row["campaign_id"] = packet.rules.campaign_id
    if packet.rules.prize_id:
        row["prize_id"] = packet.rules.prize_id
        # Nobody grabs it, so there is nothing to load.
        row["is_loaded"] = True
        row["work_pk"] = keys.work("due", keys.work_shard(packet.packet_id))
        row["work_at_ms"] = packet.expires_at_ms
    return row


def rules_of(row: dict[str, Any]) -> Rules:
    """Read a packet row's rules."""
    return Rules(
        opening=Opening(row["opening"]),
        recipients=frozenset(row["recipients"].split(",") if "recipients" in row else ()),
        passphrase=row.get("passphrase"),
        passphrase_threshold=row.get("passphrase_threshold", THRESHOLD_DEFAULT),
        campaign_id=row.get("campaign_id"),
        prize_id=row.get("prize_id"),
    )


def packet_of(row: dict[str, Any]) -> Packet:
    """Read a packet row."""
    return Packet(
        packet_id=row["packet_id"],
        sender=Person(row["sender_id"], row.get("sender_nickname")),
        kind=Kind(row["kind"]),
        rules=rules_of(row),
        greeting=row["greeting"],
        terms=Terms.parse(row["terms"]),
        created_at_ms=row["created_at_ms"],
        starts_at_ms=row["starts_at_ms"],
        expires_at_ms=row["expires_at_ms"],
        status=PacketStatus(row["status"]),
        emptied_at_ms=row.get("emptied_at_ms"),
        refunded_fen=row["refunded_fen"],
        refunded_at_ms=row.get("refunded_at_ms"),
        closed_at_ms=row.get("closed_at_ms"),
        closing_step=row.get("closing_step", 0),
        luckiest_no=row.get("luckiest_no", 0),
    )


def share_row(share: ShareFate) -> dict[str, Value]:
    """Return the row of a share's fate; a claimed one waits in the sweep's list."""
    row: dict[str, Value] = {
        **keys.share(share.packet_id, share.share_no),
        "packet_id": share.packet_id,
        "share_no": share.share_no,
        "fate": share.fate,
        "amount_fen": share.amount_fen,
        "decided_at_ms": share.decided_at_ms,
    }
    if share.taker:
        row["user_id"] = share.taker.user_id
        row["work_pk"] = keys.work("settle", keys.work_shard(f"{share.packet_id}{share.share_no}"))
        row["work_at_ms"] = share.decided_at_ms
        if share.taker.nickname:
            row["nickname"] = share.taker.nickname
    return row


def taker_row(share: ShareFate, user_id: str) -> dict[str, Value]:
    """Return the row that keeps *user_id* from taking a second share."""
    return {
        **keys.taker(share.packet_id, user_id),
        "packet_id": share.packet_id,
        "share_no": share.share_no,
        "amount_fen": share.amount_fen,
        "list_pk": keys.received_list(user_id),
        "list_sk": keys.list_position(share.decided_at_ms, share.packet_id),
    }


def prize_taker_row(share: ShareFate, user_id: str) -> dict[str, Value]:
    """Return the row that shows a won share to *user_id*, who may win several of one packet."""
    key = keys.prize_taker(share.packet_id, user_id, share.share_no)
    return {**taker_row(share, user_id), **key}


def taker_of(row: dict[str, Any]) -> Taker:
    """Read a taker's row."""
    return Taker(
        packet_id=row["packet_id"],
        user_id=row["pk"].removeprefix(keys.USER_PREFIX),
        share_no=row["share_no"],
        amount_fen=row["amount_fen"],
    )


def share_of(row: dict[str, Any]) -> ShareFate:
    """Read a share's fate."""
    taker = Person(row["user_id"], row.get("nickname")) if "user_id" in row else None
    return ShareFate(
        packet_id=row["packet_id"],
        share_no=row["share_no"],
        fate=Fate(row["fate"]),
        amount_fen=row["amount_fen"],
        decided_at_ms=row["decided_at_ms"],
        taker=taker,
        settled_at_ms=row.get("settled_at_ms"),
        requeued_count=row.get("requeued_count", 0),
    )


def ref_of(row: dict[str, Any]) -> ShareRef:
    """Read which share a row's key names."""
    _, packet_id, *_ = row["pk"].split("#")
    return ShareRef(packet_id, int(row["sk"].removeprefix(keys.SHARE_PREFIX)))
