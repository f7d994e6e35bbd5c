"""Checks of entries and receipts: I1, I2, and I7.

The sender's entry contains the total and the commitment; the grab function cannot write it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from redpacket.ledger.model import (
    Entry,
    Receipt,
    TransferKind,
    may_go_below_zero,
    packet_account,
    refund_id,
    send_id,
    settle_id,
    user_account,
)
from redpacket.packets.model.claim import Share, ShareStatus
from redpacket.packets.model.packet import Packet
from redpacket.platform.bounds import FEN_MAX
from redpacket.platform.difference import Difference
from redpacket.reconciliation.checks.packets import PacketFacts, Tally


def expected_receipts(facts: PacketFacts) -> list[Receipt]:
    """Return the receipts that a packet's outcomes imply."""
    sender = user_account(facts.packet.sender.user_id)
    return [
        Receipt(share.packet_id, share.share_no, account, share.amount_fen, at_ms)
        for share in facts.shares
        for account, at_ms in [_receiver(share, sender)]
        if at_ms
    ]


def check_posted(
    packet_id: str, expected: Iterable[Entry], posted: Iterable[Entry]
) -> list[Difference]:
    """I1: the entries *posted* for a packet equal the *expected* entries."""
    wanted = {_name(entry): entry for entry in expected}
    counts = Counter(posted)
    by_name = {_name(entry): entry for entry in counts}
    differences = [
        Difference("I1", packet_id, f"entry {name} of {account}", _text(wanted_entry), _text(other))
        for name, account in sorted(wanted.keys() | by_name.keys())
        if (wanted_entry := wanted.get((name, account))) != (other := by_name.get((name, account)))
    ]
    twice = [entry for entry, times in counts.items() if times > 1]
    return differences + [
        Difference("I1", packet_id, f"entries {entry.transfer_id}", 1, counts[entry])
        for entry in twice
    ]


def check_bounds(
    balances_fen: Mapping[str, int], ledger_entries: Iterable[Entry]
) -> list[Difference]:
    """I7: only deposits and users' debts may be negative, and an entry moves 1 to FEN_MAX fen."""
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


def check_receipts(facts: PacketFacts, receipts: Sequence[Receipt]) -> list[Difference]:
    """I2: every share that was paid or refunded has its receipt, and no other share has one."""
    wanted = {receipt.share_no: receipt for receipt in expected_receipts(facts)}
    by_share_no = {receipt.share_no: receipt for receipt in receipts}
    return [
        Difference(
            "I2",
            facts.packet.packet_id,
            f"receipt of share {share_no}",
            str(wanted.get(share_no)),
            str(by_share_no.get(share_no)),
        )
        for share_no in sorted(wanted.keys() | by_share_no.keys())
        if wanted.get(share_no) != by_share_no.get(share_no)
    ]


def sent_entries(packet: Packet) -> list[Entry]:
    """Return the sender's entry for a funded packet; an empty list for an unfunded packet."""
    if packet.funded_at_ms is None:
        return []
    entry = Entry(
        account=user_account(packet.sender.user_id),
        transfer_id=send_id(packet.packet_id),
        kind=TransferKind.SEND,
        amount_fen=-packet.terms.total_fen,
        counterparty=packet_account(packet.packet_id),
        at_ms=packet.funded_at_ms,
        commitment=packet.terms.commitment,
    )
    return [entry]


def settled_entries(shares: Iterable[Share]) -> list[Entry]:
    """Return the claimers' entries for settled claims."""
    return [
        Entry(
            account=user_account(share.claimer.user_id if share.claimer else ""),
            transfer_id=settle_id(share.packet_id, share.share_no),
            kind=TransferKind.SETTLE,
            amount_fen=share.amount_fen,
            counterparty=packet_account(share.packet_id),
            at_ms=share.settled_at_ms,
            placed_at_ms=share.decided_at_ms,
        )
        for share in shares
        if share.status is ShareStatus.CLAIMED and share.settled_at_ms is not None
    ]


def refund_entries(packet: Packet, tally: Tally) -> list[Entry]:
    """Return the sender's entries, one per chunk of refunded shares."""
    return [
        Entry(
            account=user_account(packet.sender.user_id),
            transfer_id=refund_id(packet.packet_id, first_no),
            kind=TransferKind.REFUND,
            amount_fen=fen,
            counterparty=packet_account(packet.packet_id),
            at_ms=at_ms,
        )
        for (first_no, at_ms), fen in sorted(tally.refunds.items())
    ]


def _receiver(share: Share, sender: str) -> tuple[str, int]:
    """Return the account that receives a share's money, and when; 0 before the money moves."""
    if share.status is ShareStatus.REFUNDED:
        return sender, share.decided_at_ms
    return user_account(share.claimer.user_id if share.claimer else ""), share.settled_at_ms or 0


def _name(entry: Entry) -> tuple[str, str]:
    return entry.transfer_id, entry.account


def _text(entry: Entry | None) -> str:
    if entry is None:
        return "none"
    return f"{entry.amount_fen} fen at {entry.at_ms} {entry.commitment}".rstrip()
