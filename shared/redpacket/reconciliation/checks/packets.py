"""Checks of packets and their shares: I2, I3, I4, and I8."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from redpacket.packets.model.claim import Claimer, Share, ShareStatus
from redpacket.packets.model.packet import Packet, PacketEnd, PacketStatus
from redpacket.packets.split import share_amount_fen
from redpacket.payments.model.payments import PAYMENT_LIFE_MS
from redpacket.platform.difference import Difference

_ENDED = frozenset({PacketStatus.CLOSED, PacketStatus.CANCELLED})


@dataclass(frozen=True, slots=True)
class PacketFacts:
    """One packet with some or all of its shares, from strongly consistent reads."""

    packet: Packet
    shares: Sequence[Share]


@dataclass(slots=True)
class Tally:
    """Sums of a packet's shares, added page by page."""

    share_count: int = 0
    settled_fen: int = 0
    refunded_fen: int = 0
    unsettled_count: int = 0
    unsettled_since_ms: int | None = None
    """Time of the oldest unsettled claim."""
    refunds: Counter[tuple[int, int]] = field(default_factory=Counter)
    """Refunded fen for each chunk, keyed by the chunk's first share number and time."""

    def add(self, shares: Iterable[Share]) -> Tally:
        """Add the shares of a page."""
        for share in shares:
            self.share_count += 1
            if share.status is ShareStatus.REFUNDED:
                self.refunded_fen += share.amount_fen
                self.refunds[share.refund_no, share.decided_at_ms] += share.amount_fen
            elif share.settled_at_ms is None:
                self.unsettled_count += 1
                since_ms = self.unsettled_since_ms or share.decided_at_ms
                self.unsettled_since_ms = min(since_ms, share.decided_at_ms)
            else:
                self.settled_fen += share.amount_fen
        return self


def check_tally(packet: Packet, tally: Tally) -> list[Difference]:
    """I2: shares do not exceed the total; a closed packet's shares match its total and row."""
    settled, refunded = tally.settled_fen, tally.refunded_fen
    total = packet.funded_fen
    if packet.status is not PacketStatus.CLOSED:
        if settled + refunded <= total:
            return []
        what = "settled + refunded at most"
        return [Difference("I2", packet.packet_id, what, total, settled + refunded)]
    end = packet.end or PacketEnd()
    pairs = (
        ("settled + refunded once closed", total, settled + refunded),
        ("refund on the packet row vs refunded shares", refunded, end.refunded_fen),
        ("claims on the packet row vs settled shares", settled, end.claimed_fen),
        ("shares with an outcome once closed", packet.terms.count, tally.share_count),
        ("unsettled claims once closed", 0, tally.unsettled_count),
    )
    return [Difference("I2", packet.packet_id, *pair) for pair in pairs if pair[1] != pair[2]]


def check_shares(facts: PacketFacts) -> list[Difference]:
    """I3: a share has one outcome, a valid number, the terms' amount, and an invited claimer."""
    packet_id, terms = facts.packet.packet_id, facts.packet.terms
    differences = []
    for share_no, times in Counter(share.share_no for share in facts.shares).items():
        if times > 1:
            differences.append(
                Difference("I3", packet_id, f"outcomes of share {share_no}", 1, times)
            )
    for share in facts.shares:
        exists = 1 <= share.share_no <= terms.count
        expected = share_amount_fen(terms, share.share_no) if exists else 0
        if share.amount_fen != expected:
            what = f"amount of share {share.share_no}"
            differences.append(Difference("I3", packet_id, what, expected, share.amount_fen))
        if share.claimer and not facts.packet.rules.admits(share.claimer):
            what = f"taker of share {share.share_no}"
            differences.append(
                Difference("I3", packet_id, what, "an invited user", share.claimer.user_id)
            )
    return differences


def check_once_per_user(facts: PacketFacts) -> list[Difference]:
    """I4: a user claims at most one share of a packet, unless the packet funds a prize."""
    if facts.packet.rules.prize_id:
        return []
    claimers = Counter(share.claimer.user_id for share in facts.shares if share.claimer)
    return [
        Difference("I4", facts.packet.packet_id, f"shares of {user_id}", 1, times)
        for user_id, times in claimers.items()
        if times > 1
    ]


def check_takers(shares: Iterable[Share], claimers: Iterable[Claimer]) -> list[Difference]:
    """I4: every claim has a claimer row with the same share and amount, and vice versa."""
    claimed: dict[tuple[str, str], list[tuple[int, int]]] = defaultdict(list)
    noted: dict[tuple[str, str], list[tuple[int, int]]] = defaultdict(list)
    for share in shares:
        if share.status is ShareStatus.CLAIMED:
            user_id = share.claimer.user_id if share.claimer else ""
            claimed[share.packet_id, user_id].append((share.share_no, share.amount_fen))
    for claimer in claimers:
        noted[claimer.packet_id, claimer.user_id].append((claimer.share_no, claimer.amount_fen))
    return [
        Difference(
            "I4",
            packet_id,
            f"share that the taker's row of {user_id} names",
            _numbers(claimed.get((packet_id, user_id), ())),
            _numbers(noted.get((packet_id, user_id), ())),
        )
        for packet_id, user_id in sorted(claimed.keys() | noted.keys())
        if sorted(claimed.get((packet_id, user_id), ()))
        != sorted(noted.get((packet_id, user_id), ()))
    ]


def check_late_claims(shares: Iterable[Share], now_ms: int, bound_ms: int) -> list[Difference]:
    """I8: claims are settled within *bound_ms*."""
    return [
        Difference(
            "I8",
            share.packet_id,
            f"share {share.share_no} settled by",
            share.decided_at_ms + bound_ms,
            now_ms,
        )
        for share in shares
        if share.status is ShareStatus.CLAIMED
        and share.settled_at_ms is None
        and now_ms > share.decided_at_ms + bound_ms
    ]


def check_late_close(packet: Packet, now_ms: int, bound_ms: int) -> list[Difference]:
    """I8: a packet is closed (or canceled, if unpaid) within *bound_ms* after it ends."""
    is_unpaid = packet.status is PacketStatus.UNPAID
    end_ms = packet.created_at_ms + PAYMENT_LIFE_MS if is_unpaid else packet.expires_at_ms
    by_ms = end_ms + bound_ms
    if packet.status in _ENDED or now_ms <= by_ms:
        return []
    return [Difference("I8", packet.packet_id, "closed by", by_ms, now_ms)]


def _numbers(shares: Iterable[tuple[int, int]]) -> str:
    """Return a text with each share and amount; "None" for an empty list."""
    return ", ".join(str(share) for share in sorted(shares)) or "None"
