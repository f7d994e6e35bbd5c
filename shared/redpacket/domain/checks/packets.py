"""Checks of packets and their shares: I2 to I5, I8."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Mapping

from redpacket.domain.checks.facts import Difference, PacketFacts, Tally, Told
from redpacket.domain.claim import Fate, ShareFate, Taker
from redpacket.domain.ledger import user_account
from redpacket.domain.packet import Packet, PacketEnd, PacketStatus
from redpacket.domain.payments import PAYMENT_LIFE_MS
from redpacket.domain.split import share_amount_fen

UNPAID_COUNT = "unpaid packets counted"

_ENDED = frozenset({PacketStatus.CLOSED, PacketStatus.CANCELLED})


def check_packet_total(facts: PacketFacts) -> list[Difference]:
    """I2: settled + refunded are never over the total, and are the total once closed."""
    return check_tally(facts.packet, Tally().add(facts.shares))


def check_tally(packet: Packet, tally: Tally) -> list[Difference]:
    """I2: `check_packet_total` of a packet whose fates were added up before."""
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
        ("shares with a fate once closed", packet.terms.count, tally.fate_count),
        ("unsettled claims once closed", 0, tally.unsettled_count),
    )
    return [Difference("I2", packet.packet_id, *pair) for pair in pairs if pair[1] != pair[2]]


def check_fates(facts: PacketFacts) -> list[Difference]:
    """I3: a share has one fate at most, exists, is worth its terms, and is an invited user's."""
    packet_id, terms = facts.packet.packet_id, facts.packet.terms
    differences = []
    for share_no, times in Counter(share.share_no for share in facts.shares).items():
        if times > 1:
            differences.append(Difference("I3", packet_id, f"fates of share {share_no}", 1, times))
    for share in facts.shares:
        exists = 1 <= share.share_no <= terms.count
        expected = share_amount_fen(terms, share.share_no) if exists else 0
        if share.amount_fen != expected:
            what = f"amount of share {share.share_no}"
            differences.append(Difference("I3", packet_id, what, expected, share.amount_fen))
        if share.taker and not facts.packet.rules.invites(share.taker.user_id):
            what = f"taker of share {share.share_no}"
            differences.append(
                Difference("I3", packet_id, what, "an invited user", share.taker.user_id)
            )
    return differences


def check_once_per_user(facts: PacketFacts) -> list[Difference]:
    """I4: a user takes at most one share of a packet, but of a prize's, which are won."""
    if facts.packet.rules.prize_id:
        return []
    takers = Counter(share.taker.user_id for share in facts.shares if share.taker)
    return [
        Difference("I4", facts.packet.packet_id, f"shares of {user_id}", 1, times)
        for user_id, times in takers.items()
        if times > 1
    ]


def check_takers(shares: Iterable[ShareFate], takers: Iterable[Taker]) -> list[Difference]:
    """I4: every claim has its taker's note, of that share and amount; no note lacks its claim."""
    claimed: dict[tuple[str, str], list[tuple[int, int]]] = defaultdict(list)
    noted: dict[tuple[str, str], list[tuple[int, int]]] = defaultdict(list)
    for share in shares:
        if share.fate is Fate.CLAIMED:
            user_id = share.taker.user_id if share.taker else ""
            claimed[share.packet_id, user_id].append((share.share_no, share.amount_fen))
    for taker in takers:
        noted[taker.packet_id, taker.user_id].append((taker.share_no, taker.amount_fen))
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


def check_packet_exists(
    shares: Iterable[ShareFate], packet_ids: Container[str]
) -> list[Difference]:
    """I3: a share with a fate belongs to a packet; without one nothing says what it is worth."""
    return [
        Difference(
            "I3",
            share.packet_id,
            f"share {share.share_no} of a packet that does not exist",
            0,
            share.amount_fen,
        )
        for share in shares
        if share.packet_id not in packet_ids
    ]


def check_told(facts: PacketFacts, told: Iterable[Told]) -> list[Difference]:
    """I5: whatever a user was told is the durable truth, number and amount."""
    owned = {
        share.taker.user_id: (share.share_no, share.amount_fen)
        for share in facts.shares
        if share.taker
    }
    return [
        Difference(
            "I5",
            facts.packet.packet_id,
            f"told to {answer.user_id}",
            str(owned.get(answer.user_id)),
            str((answer.share_no, answer.amount_fen)),
        )
        for answer in told
        if answer.packet_id == facts.packet.packet_id
        and owned.get(answer.user_id) != (answer.share_no, answer.amount_fen)
    ]


def check_settled_in_time(facts: PacketFacts, now_ms: int, bound_ms: int) -> list[Difference]:
    """I8: once faults stop, claims are settled and due packets closed within *bound_ms*."""
    late = check_late_claims(facts.shares, now_ms, bound_ms)
    return late + check_late_close(facts.packet, now_ms, bound_ms)


def check_late_claims(shares: Iterable[ShareFate], now_ms: int, bound_ms: int) -> list[Difference]:
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
        if share.fate is Fate.CLAIMED
        and share.settled_at_ms is None
        and now_ms > share.decided_at_ms + bound_ms
    ]


def check_late_close(packet: Packet, now_ms: int, bound_ms: int) -> list[Difference]:
    """I8: a packet is closed within *bound_ms* after its end, or cancelled if it is unpaid."""
    is_unpaid = packet.status is PacketStatus.UNPAID
    end_ms = packet.created_at_ms + PAYMENT_LIFE_MS if is_unpaid else packet.expires_at_ms
    by_ms = end_ms + bound_ms
    if packet.status in _ENDED or now_ms <= by_ms:
        return []
    return [Difference("I8", packet.packet_id, "closed by", by_ms, now_ms)]


def check_claim_counts(
    packets: Iterable[PacketFacts], counts: Mapping[tuple[str, str], int]
) -> list[Difference]:
    """I9: what is counted against a quota, by campaign and user, are the claims that there are."""
    claimed = Counter(
        (facts.packet.rules.campaign_id, share.taker.user_id)
        for facts in packets
        for share in facts.shares
        # Prizes have rules of their own.
        if facts.packet.rules.campaign_id and not facts.packet.rules.prize_id and share.taker
    )
    return [
        Difference("I9", f"{campaign_id} {user_id}", "claims counted", claimed[key], counted)
        for key in sorted({*claimed, *counts})
        for campaign_id, user_id in [key]
        if (counted := counts.get((campaign_id or "", user_id), 0)) != claimed[key]
    ]


def check_open_counts(packets: Iterable[Packet], counts: Mapping[str, int]) -> list[Difference]:
    """I9: of each account is counted how many of its packets are open, so that no place is lost."""
    return _check_counted("open packets counted", packets, counts, _ENDED)


def check_unpaid_counts(packets: Iterable[Packet], counts: Mapping[str, int]) -> list[Difference]:
    """I9: of these it is counted how many are not paid for, which have no entry yet."""
    others = frozenset(PacketStatus) - {PacketStatus.UNPAID}
    return _check_counted(UNPAID_COUNT, packets, counts, others)


def _check_counted(
    what: str,
    packets: Iterable[Packet],
    counts: Mapping[str, int],
    uncounted: frozenset[PacketStatus],
) -> list[Difference]:
    found = Counter(
        user_account(packet.sender.user_id)
        for packet in packets
        if packet.counts_as_open and packet.status not in uncounted
    )
    return [
        Difference("I9", account, what, found[account], counted)
        for account in sorted({*found, *counts})
        if (counted := counts.get(account, 0)) != found[account]
    ]


def check_packet(facts: PacketFacts) -> list[Difference]:
    """Run every check that one packet's facts allow at any moment of its life."""
    return check_packet_total(facts) + check_fates(facts) + check_once_per_user(facts)


def _numbers(shares: Iterable[tuple[int, int]]) -> str:
    """Name shares with their amounts; "None" for an empty list."""
    return ", ".join(str(share) for share in sorted(shares)) or "None"
