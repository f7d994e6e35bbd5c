"""The invariants of docs/invariants.md as code: run after every test, and by audits in production.

Each check returns the differences it finds, and none where all is well. I6 speaks of withdrawals,
which this version does not have, and I9 of a campaign's quotas.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass

from redpacket.domain.claim import Fate, ShareFate, Taker
from redpacket.domain.ledger import DEPOSITS, FEN_MAX, Entry, may_go_below_zero
from redpacket.domain.packet import Packet, PacketStatus
from redpacket.domain.split import amounts_fen


@dataclass(frozen=True, slots=True)
class Difference:
    """One broken rule: *rule* is the invariant's number, *subject* the packet or account."""

    rule: str
    subject: str
    what: str
    expected: int | str
    actual: int | str


@dataclass(frozen=True, slots=True)
class PacketFacts:
    """All that the ledger knows of one packet, read strongly."""

    packet: Packet
    shares: Sequence[ShareFate]
    escrow_fen: int


@dataclass(frozen=True, slots=True)
class Told:
    """An answer that a user got."""

    packet_id: str
    user_id: str
    share_no: int
    amount_fen: int


def check_conservation(balances_fen: Mapping[str, int]) -> list[Difference]:
    """I1: wallets + escrows + outside = deposits."""
    held = sum(fen for account, fen in balances_fen.items() if account != DEPOSITS)
    deposited = -balances_fen.get(DEPOSITS, 0)
    if held == deposited:
        return []
    return [Difference("I1", "all accounts", "wallets + escrows vs deposits", deposited, held)]


def check_entries(
    balances_fen: Mapping[str, int], ledger_entries: Iterable[Entry]
) -> list[Difference]:
    """I1: every transfer sums to zero, and every balance is the sum of its account's entries."""
    by_account: dict[str, int] = defaultdict(int)
    by_transfer: dict[str, int] = defaultdict(int)
    for entry in ledger_entries:
        by_account[entry.account] += entry.amount_fen
        by_transfer[entry.transfer_id] += entry.amount_fen
    unbalanced = [
        Difference("I1", transfer_id, "entries of a transfer", 0, total)
        for transfer_id, total in by_transfer.items()
        if total
    ]
    drifted = [
        Difference("I1", account, "balance vs entries", by_account[account], balance)
        for account in by_account.keys() | balances_fen.keys()
        if (balance := balances_fen.get(account, 0)) != by_account[account]
    ]
    return unbalanced + drifted


def check_packet_total(facts: PacketFacts) -> list[Difference]:
    """I2: settled + refunded + escrow = total; nothing is over, and nothing left once closed."""
    packet = facts.packet
    settled = sum(share.amount_fen for share in facts.shares if share.settled_at_ms is not None)
    refunded = _refunded_fen(facts.shares)
    expected = packet.terms.total_fen
    differences = []
    if settled + refunded + facts.escrow_fen != expected:
        differences.append(
            Difference(
                "I2",
                packet.packet_id,
                "settled + refunded + escrow",
                expected,
                settled + refunded + facts.escrow_fen,
            )
        )
    if packet.refunded_fen != refunded:
        differences.append(
            Difference(
                "I2",
                packet.packet_id,
                "refund on the packet row vs refunded shares",
                refunded,
                packet.refunded_fen,
            )
        )
    if packet.status is PacketStatus.CLOSED and facts.escrow_fen:
        differences.append(
            Difference("I2", packet.packet_id, "escrow once closed", 0, facts.escrow_fen)
        )
    if packet.status is PacketStatus.CLOSED and len(facts.shares) != packet.terms.count:
        differences.append(
            Difference(
                "I2",
                packet.packet_id,
                "shares with a fate once closed",
                packet.terms.count,
                len(facts.shares),
            )
        )
    return differences


def check_fates(facts: PacketFacts) -> list[Difference]:
    """I3: a share number has one fate at most, exists, and is worth what the terms say."""
    packet_id = facts.packet.packet_id
    amounts = amounts_fen(facts.packet.terms)
    differences = []
    for share_no, times in Counter(share.share_no for share in facts.shares).items():
        if times > 1:
            differences.append(Difference("I3", packet_id, f"fates of share {share_no}", 1, times))
    for share in facts.shares:
        exists = 1 <= share.share_no <= len(amounts)
        expected = amounts[share.share_no - 1] if exists else 0
        if share.amount_fen != expected:
            what = f"amount of share {share.share_no}"
            differences.append(Difference("I3", packet_id, what, expected, share.amount_fen))
    return differences


def check_once_per_user(facts: PacketFacts) -> list[Difference]:
    """I4: a user takes at most one share of a packet."""
    takers = Counter(share.taker.user_id for share in facts.shares if share.taker)
    return [
        Difference("I4", facts.packet.packet_id, f"shares of {user_id}", 1, times)
        for user_id, times in takers.items()
        if times > 1
    ]


def check_takers(shares: Iterable[ShareFate], takers: Iterable[Taker]) -> list[Difference]:
    """I4: every claim has its taker's note, of that share and amount; no note lacks its claim."""
    claimed = {
        (share.packet_id, share.taker.user_id if share.taker else ""): (
            share.share_no,
            share.amount_fen,
        )
        for share in shares
        if share.fate is Fate.CLAIMED
    }
    noted = {
        (taker.packet_id, taker.user_id): (taker.share_no, taker.amount_fen) for taker in takers
    }
    return [
        Difference(
            "I4",
            packet_id,
            f"share that the taker's row of {user_id} names",
            str(claimed.get((packet_id, user_id))),
            str(noted.get((packet_id, user_id))),
        )
        for packet_id, user_id in sorted(claimed.keys() | noted.keys())
        if claimed.get((packet_id, user_id)) != noted.get((packet_id, user_id))
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


def check_bounds(
    balances_fen: Mapping[str, int], ledger_entries: Iterable[Entry]
) -> list[Difference]:
    """I7: no account below zero, every amount an integer in 1..cap."""
    below = [
        Difference("I7", account, "balance at least", 0, balance)
        for account, balance in balances_fen.items()
        if balance < 0 and not may_go_below_zero(account)
    ]
    odd = [
        Difference("I7", entry.transfer_id, "amount within", f"1..{FEN_MAX}", entry.amount_fen)
        for entry in ledger_entries
        if not 1 <= abs(entry.amount_fen) <= FEN_MAX
    ]
    return below + odd


def check_settled_in_time(facts: PacketFacts, now_ms: int, bound_ms: int) -> list[Difference]:
    """I8: once faults stop, claims are settled and due packets closed within *bound_ms*."""
    packet = facts.packet
    late = [
        Difference(
            "I8",
            packet.packet_id,
            f"share {share.share_no} settled by",
            share.decided_at_ms + bound_ms,
            now_ms,
        )
        for share in facts.shares
        if share.fate is Fate.CLAIMED
        and share.settled_at_ms is None
        and now_ms > share.decided_at_ms + bound_ms
    ]
    if packet.status is not PacketStatus.CLOSED and now_ms > packet.expires_at_ms + bound_ms:
        late.append(
            Difference("I8", packet.packet_id, "closed by", packet.expires_at_ms + bound_ms, now_ms)
        )
    return late


def check_claim_counts(
    packets: Iterable[PacketFacts], counts: Mapping[tuple[str, str], int]
) -> list[Difference]:
    """I9: what is counted against a quota, by campaign and user, are the claims that there are."""
    claimed = Counter(
        (facts.packet.rules.campaign_id, share.taker.user_id)
        for facts in packets
        for share in facts.shares
        if facts.packet.rules.campaign_id and share.taker
    )
    return [
        Difference("I9", f"{campaign_id} {user_id}", "claims counted", claimed[key], counted)
        for key in sorted({*claimed, *counts})
        for campaign_id, user_id in [key]
        if (counted := counts.get((campaign_id or "", user_id), 0)) != claimed[key]
    ]


def check_packet(facts: PacketFacts) -> list[Difference]:
    """Run every check that one packet's facts allow at any moment of its life."""
    return check_packet_total(facts) + check_fates(facts) + check_once_per_user(facts)


def _refunded_fen(shares: Iterable[ShareFate]) -> int:
    return sum(share.amount_fen for share in shares if share.fate is Fate.REFUNDED)
