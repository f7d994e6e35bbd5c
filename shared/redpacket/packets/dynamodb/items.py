"""Conversion between domain values and rows in PacketsTable and SharesTable."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from redpacket.campaigns.model import AmountsShown
from redpacket.ledger.dynamodb import keys as ledger_keys
from redpacket.packets.dynamodb import keys
from redpacket.packets.model.claim import Claimer, Share, ShareRef, ShareStatus
from redpacket.packets.model.packet import Kind, Opening, Packet, PacketEnd, PacketStatus, Rules
from redpacket.packets.model.passphrase import THRESHOLD_DEFAULT
from redpacket.packets.model.seed_keys import SeedKeys
from redpacket.packets.split import Terms, seed_of
from redpacket.platform.bounds import AT_MS_MAX
from redpacket.platform.dynamodb.client import Value
from redpacket.platform.user import User


def packet_row(packet: Packet) -> dict[str, Value]:
    """Return the row of a new packet. Only a prize packet is marked as loaded."""
    row: dict[str, Value] = {
        **keys.packet(packet.packet_id),
        "packet_id": packet.packet_id,
        "sender_id": packet.sender.user_id,
        "kind": packet.kind,
        "opening": packet.rules.opening,
        "greeting": packet.greeting,
        "terms": packet.terms.stored,
        "total_fen": packet.terms.total_fen,
        "created_at_ms": packet.created_at_ms,
        "starts_at_ms": packet.starts_at_ms,
        "expires_at_ms": packet.expires_at_ms,
        "status": packet.status,
        "is_loaded": False,
        "work_pk": ledger_keys.work("load", ledger_keys.work_shard(packet.packet_id)),
        "work_at_ms": packet.created_at_ms,
        "list_pk": keys.sent_list(packet.sender.user_id),
        "list_sk": ledger_keys.list_position(packet.created_at_ms, packet.packet_id),
    }
    if packet.payment_id:
        # An unpaid packet is neither loaded nor listed as sent until its payment arrives.
        del row["is_loaded"]
        row["list_pk"] = keys.unpaid_list(packet.sender.user_id)
        row["payment_id"] = packet.payment_id
        row["pay_channel"] = packet.pay_channel
        row["pay_method"] = packet.pay_method
        row["work_pk"] = ledger_keys.work("unpaid", ledger_keys.work_shard(packet.packet_id))
    if packet.amounts_shown is not AmountsShown.LIVE:
        row["amounts_shown"] = packet.amounts_shown
    optional: dict[str, Value | None] = {
        "cover_url": packet.cover_url,
        "has_card": packet.has_card,
        "chat_id": packet.rules.chat_id,
        # User ids contain no commas (platform/user.py).
        "recipients": ",".join(sorted(packet.rules.recipients)),
    }
    row |= {name: value for name, value in optional.items() if value}
    if packet.rules.passphrase:
        row["passphrase"] = packet.rules.passphrase
        row["passphrase_threshold"] = packet.rules.passphrase_threshold
    if packet.rules.campaign_id:
        row["campaign_id"] = packet.rules.campaign_id
        row["asked_starts_at_ms"] = packet.rules.starts_at_ms
        row["asked_ends_at_ms"] = packet.rules.ends_at_ms
    if packet.rules.prize_id:
        row["prize_id"] = packet.rules.prize_id
        # Version of the campaign's prizes that set the packet's end; 0 until an edit sets it.
        row["end_version"] = 0
        # Prize packets cannot be grabbed, so they are never loaded into the cache.
        row["is_loaded"] = True
        row["work_pk"] = due_list(packet)
        row["work_at_ms"] = packet.expires_at_ms
    return row


def payment_packet_row(packet: Packet) -> dict[str, Value]:
    """Return the row that maps a payment's number to its packet."""
    assert packet.payment_id
    return {**keys.paid_packet(packet.payment_id), "packet_id": packet.packet_id}


def due_list(packet: Packet) -> str:
    """Return the work list partition that lists a packet by its end."""
    return ledger_keys.work("due", ledger_keys.work_shard(packet.sender.user_id))


def rules_of(row: dict[str, Any]) -> Rules:
    """Parse a packet's rules."""
    return Rules(
        opening=Opening(row["opening"]),
        recipients=frozenset(row["recipients"].split(",") if "recipients" in row else ()),
        passphrase=row.get("passphrase"),
        passphrase_threshold=row.get("passphrase_threshold", THRESHOLD_DEFAULT),
        chat_id=row.get("chat_id"),
        campaign_id=row.get("campaign_id"),
        prize_id=row.get("prize_id"),
        starts_at_ms=row.get("asked_starts_at_ms", 0),
        ends_at_ms=row.get("asked_ends_at_ms", AT_MS_MAX),
    )


def packet_of(row: dict[str, Any], seeds: SeedKeys | None = None) -> Packet:
    """Parse a packet's row; without *seeds*, the amounts of an open packet cannot be computed."""
    return Packet(
        packet_id=row["packet_id"],
        sender=User(row["sender_id"]),
        kind=Kind(row["kind"]),
        rules=rules_of(row),
        greeting=row["greeting"],
        terms=_terms_of(row, seeds),
        created_at_ms=row["created_at_ms"],
        starts_at_ms=row["starts_at_ms"],
        expires_at_ms=row["expires_at_ms"],
        sent_ends_at_ms=row.get("sent_ends_at_ms"),
        amounts_shown=AmountsShown(row.get("amounts_shown", AmountsShown.LIVE)),
        cover_url=row.get("cover_url"),
        has_card=row.get("has_card", False),
        status=PacketStatus(row["status"]),
        closing_step=row.get("closing_step", 0),
        closing_no=row.get("closing_no", 0),
        closed_at_ms=row.get("closed_at_ms"),
        end=end_of(row) if "claimed_count" in row else None,
        payment_id=row.get("payment_id"),
        pay_channel=row.get("pay_channel", ""),
        pay_method=row.get("pay_method", ""),
        paid_at_ms=row.get("paid_at_ms"),
    )


def _terms_of(row: dict[str, Any], seeds: SeedKeys | None) -> Terms:
    terms = Terms.parse(row["terms"])
    if "opened_seed" in row:
        return replace(terms, seed=seed_of(row["opened_seed"]))
    return seeds.open_terms(row["packet_id"], terms) if seeds else terms


def end_row(end: PacketEnd) -> dict[str, Value]:
    """Return the attributes with the final sums of a packet or shard."""
    best = end.luckiest
    row: dict[str, Value] = {
        "claimed_count": end.claimed_count,
        "claimed_fen": end.claimed_fen,
        "refunded_count": end.refunded_count,
        "refunded_fen": end.refunded_fen,
        "last_claimed_at_ms": end.last_claimed_at_ms,
        "luckiest_no": best.share_no if best else 0,
        "luckiest_fen": best.amount_fen if best else 0,
        "luckiest_at_ms": best.claimed_at_ms if best else 0,
    }
    if end.refunded_at_ms is not None:
        row["refunded_at_ms"] = end.refunded_at_ms
    if best:
        row["luckiest_user_id"] = best.user_id
    return row


def end_of(row: dict[str, Any]) -> PacketEnd:
    """Parse the final sums of a packet or shard."""
    best = None
    if user_id := row.get("luckiest_user_id"):
        _, packet_id = row["pk"].split("#")
        numbers = row["luckiest_no"], row["luckiest_fen"], row["luckiest_at_ms"]
        best = Claimer(packet_id, user_id, *numbers)
    return PacketEnd(
        claimed_count=row["claimed_count"],
        claimed_fen=row["claimed_fen"],
        refunded_count=row["refunded_count"],
        refunded_fen=row["refunded_fen"],
        refunded_at_ms=row.get("refunded_at_ms"),
        last_claimed_at_ms=row["last_claimed_at_ms"],
        luckiest=best,
    )


def share_row(share: Share) -> dict[str, Value]:
    """Return the row of a claimed or refunded share; a claim is also in the sweep's work list."""
    row: dict[str, Value] = {
        **keys.share(share.packet_id, share.share_no),
        "fate": share.status,
        "amount_fen": share.amount_fen,
        "decided_at_ms": share.decided_at_ms,
    }
    if share.refund_no:
        row["refund_no"] = share.refund_no
    if share.is_last:
        row["is_last"] = True
    if share.via:
        row["via"] = share.via
    if share.claimer:
        row["user_id"] = share.claimer.user_id
        row["work_pk"] = ledger_keys.work(
            "settle", ledger_keys.work_shard(f"{share.packet_id}{share.share_no}")
        )
        row["work_at_ms"] = share.decided_at_ms
        if share.claimer.chat_id:
            # The settlement checks this attribute, which only the chat function may write.
            row["chat_id"] = share.claimer.chat_id
    return row


def claimer_row(share: Share, user_id: str) -> dict[str, Value]:
    """Return the row that prevents a second share for *user_id*."""
    return {
        **keys.claimer(share.packet_id, user_id),
        "share_no": share.share_no,
        "amount_fen": share.amount_fen,
        "claimed_at_ms": share.decided_at_ms,
    }


def prize_claimer_row(share: Share, user_id: str) -> dict[str, Value]:
    """Return the claimer row of a won share; a user may win several shares of a prize packet."""
    key = keys.prize_claimer(share.packet_id, user_id, share.share_no)
    return {**claimer_row(share, user_id), **key}


def claimer_of(row: dict[str, Any]) -> Claimer:
    """Parse a claimer's row."""
    packet_id, _, _ = row["sk"].removeprefix(keys.CLAIMER_PREFIX).partition("#")
    return Claimer(
        packet_id=packet_id,
        user_id=row["pk"].removeprefix(keys.USER_PREFIX),
        share_no=row["share_no"],
        amount_fen=row["amount_fen"],
        claimed_at_ms=row["claimed_at_ms"],
    )


def share_of(row: dict[str, Any]) -> Share:
    """Parse a share's row."""
    ref = ref_of(row)
    claimer = User(row["user_id"], chat_id=row.get("chat_id")) if "user_id" in row else None
    return Share(
        packet_id=ref.packet_id,
        share_no=ref.share_no,
        status=ShareStatus(row["fate"]),
        amount_fen=row["amount_fen"],
        decided_at_ms=row["decided_at_ms"],
        claimer=claimer,
        settled_at_ms=row.get("settled_at_ms"),
        requeued_count=row.get("requeued_count", 0),
        is_last=row.get("is_last", False),
        refund_no=row.get("refund_no", 0),
        via=row.get("via"),
    )


def ref_of(row: dict[str, Any]) -> ShareRef:
    """Parse the share reference in a row's key. Raises ValueError for any other key."""
    _, packet_id, *_ = row["pk"].split("#")
    return ShareRef(packet_id, int(row["sk"].removeprefix(keys.SHARE_PREFIX)))


def find_ref(row: dict[str, Any]) -> ShareRef | None:
    """Parse the share reference in a row's key; return None for any other key."""
    try:
        return ref_of(row)
    except ValueError:
        return None
