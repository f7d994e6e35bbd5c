"""Rows as lines that sum to zero, which compare a ledger of any size in bounded memory.

Two tables that must agree write the same line, a subject, a text and an amount, one of them
negated. Each line has the time of its fact, so the facts before a moment never change. Values
within one partition are compared as two numbers under one name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

from redpacket.campaigns.model import Campaign
from redpacket.ledger.model import (
    Entry,
    Receipt,
    TransferKind,
    outside_of,
    packet_of,
    settle_id,
    user_account,
    year_of,
)
from redpacket.lottery.model.lottery import Draw, PrizeKind, unit_share
from redpacket.packets.model.claim import Claimer, Share, ShareStatus, claimer_of
from redpacket.packets.model.packet import Packet, PacketStatus
from redpacket.payments.model.payments import (
    Payment,
    PaymentRefund,
    PaymentReturn,
    ReturnStatus,
    payment_entries,
    refund_entries,
)
from redpacket.payments.model.withdrawals import Withdrawal, withdrawal_entries
from redpacket.reconciliation.checks.outside import BookedLine, OutsideRow, account_of, asked_lines
from redpacket.reconciliation.checks.postings import refund_entry, sent_entries, settled_entries
from redpacket.reconciliation.scanned import (
    Balance,
    ClaimCount,
    HelpGiven,
    Member,
    Played,
    Scanned,
    WonOnce,
)

Line: TypeAlias = tuple[int, str, str, int]
"""Time of the fact, subject (a packet, a transfer, a user of a campaign), text, and amount."""

OPEN_COUNT = "open packets counted"

LocalLine: TypeAlias = tuple[str, int, int]
"""A name within a partition, and what is added to its expected and to its actual number."""


def lines_of(row: Scanned, packet: Packet | None, *, has_receipts: bool) -> Iterator[Line]:
    """Yield a row's lines for other tables; *packet* is the packet of a share.

    Omits receipts if none are kept. Raises InvariantViolated for a win of no packet.
    """
    if isinstance(row, Share):
        if packet:
            yield from _fate_lines(row, packet, has_receipts=has_receipts)
    elif has_receipts or not isinstance(row, Receipt):
        read = _LINES.get(type(row))
        yield from read(row) if read else ()


def first_claim_line(campaign_id: str, user_id: str, at_ms: int) -> Line:
    """Return the line of a user's first claim of a campaign, against its count."""
    return at_ms, f"{campaign_id} {user_id}", "counted", -1


def subject_of(row: Scanned) -> str | None:
    """Return whom the lines of a row are about; None for a row without any."""
    if isinstance(row, Entry):
        side = packet_of(row.counterparty) or outside_of(row.counterparty)
        return side or row.transfer_id
    if isinstance(row, BookedLine):
        return row.account
    if isinstance(row, OutsideRow):
        return account_of(row)
    if isinstance(row, ClaimCount):
        return f"{row.campaign_id} {row.user_id}"
    if isinstance(row, Receipt | Share | Claimer | Packet | Member):
        return row.packet_id
    return None


def owner_of(row: Scanned) -> tuple[str, ...] | None:
    """Return whose partition a row is in, where its rows must agree; None for any other row."""
    read = _OWNERS.get(type(row))
    return read(row) if read else None


def packet_named(row: Scanned) -> str | None:
    """Return the packet that must be known for the lines of a row."""
    if isinstance(row, Share | Claimer):
        return row.packet_id
    if not isinstance(row, Entry):
        return None
    if row.kind is TransferKind.SEND:
        return packet_of(row.counterparty)
    claim = claim_of(row)
    return claim[0] if claim else None


def local_lines(row: Scanned, packet: Packet | None) -> Iterator[LocalLine]:
    """Yield what a row says within its partition; *packet* is the one that a claim is of."""
    read = _LOCAL_LINES.get(type(row))
    yield from read(row, packet) if read else ()


def claim_of(entry: Entry) -> tuple[str, int] | None:
    """Return the packet and the share that an entry pays; None where it does not pay a claim."""
    packet_id = packet_of(entry.counterparty)
    number = entry.transfer_id.rpartition(":")[2]
    if packet_id is None or entry.kind is not TransferKind.SETTLE or not number.isdecimal():
        return None
    is_named = entry.transfer_id == settle_id(packet_id, int(number))
    return (packet_id, int(number)) if is_named else None


def outside_entries(row: Scanned) -> list[Entry]:
    """Return the entries that a row of payments and withdrawals asks for."""
    read = _ENTRIES.get(type(row))
    return read(row) if read else []


def booked_fen(row: Scanned, until_ms: int) -> int:
    """Return what an entry adds to all books together, as of *until_ms*."""
    return row.amount_fen if isinstance(row, Entry) and row.at_ms < until_ms else 0


def held_fen(row: Scanned, until_ms: int) -> int:
    """Return what a row adds to what all packets and the outside hold, as of *until_ms*."""
    if isinstance(row, Payment | PaymentRefund | Withdrawal):
        return -sum(entry.amount_fen for entry in outside_entries(row) if entry.at_ms < until_ms)
    if isinstance(row, Packet):
        is_funded = row.funded_at_ms is not None and row.funded_at_ms < until_ms
        return row.terms.total_fen if is_funded else 0
    if not isinstance(row, Share):
        return 0
    is_refunded = row.fate is ShareStatus.REFUNDED
    moved_at_ms = row.decided_at_ms if is_refunded else row.settled_at_ms
    return -row.amount_fen if moved_at_ms and moved_at_ms < until_ms else 0


def _entry_line(entry: Entry) -> Line:
    side = packet_of(entry.counterparty) or outside_of(entry.counterparty)
    if side is None:
        return entry.at_ms, entry.transfer_id, "transfer", entry.amount_fen
    text = f"entry {entry.account} {entry.transfer_id} {entry.at_ms} {entry.placed_at_ms}"
    return entry.at_ms, side, f"{text} {entry.commitment}", entry.amount_fen


def _receipt_line(receipt: Receipt, sign: int) -> Line:
    text = f"receipt {receipt.share_no} {receipt.account} {receipt.amount_fen} {receipt.at_ms}"
    return receipt.at_ms, receipt.packet_id, text, sign


def _taker_line(taker: Claimer, sign: int) -> Line:
    text = f"taker {taker.user_id} {taker.share_no} {taker.amount_fen} {taker.claimed_at_ms}"
    return taker.claimed_at_ms, taker.packet_id, text, sign


def _packet_lines(packet: Packet) -> Iterator[Line]:
    yield from (_against(_entry_line(entry)) for entry in sent_entries(packet))
    campaign_id = packet.rules.campaign_id
    if campaign_id and not packet.rules.prize_id:
        text = f"member {campaign_id} {packet.terms.total_fen}"
        yield packet.created_at_ms, packet.packet_id, text, -1
    if packet.end and packet.closed_at_ms is not None:
        for name, number in (
            ("claimed_count", packet.end.claimed_count),
            ("claimed_fen", packet.end.claimed_fen),
            ("refunded_count", packet.end.refunded_count),
            ("refunded_fen", packet.end.refunded_fen),
        ):
            yield packet.closed_at_ms, packet.packet_id, f"end {name}", number


def _fate_lines(share: Share, packet: Packet, *, has_receipts: bool) -> Iterator[Line]:
    if share.fate is ShareStatus.CLAIMED:
        yield _taker_line(claimer_of(share), -1)
        if packet.rules.prize_id:
            yield _won_line(share, -1)
        moved = settled_entries([share])
        name = "claimed"
    else:
        moved = [refund_entry(packet, share.refund_no, share.decided_at_ms, share.amount_fen)]
        name = "refunded"
    for entry in moved:
        yield _against(_entry_line(entry))
        if has_receipts:
            number, fen = share.share_no, share.amount_fen
            receipt = Receipt(share.packet_id, number, entry.account, fen, entry.at_ms)
            yield _receipt_line(receipt, -1)
    if packet.end and packet.closed_at_ms is not None:
        yield packet.closed_at_ms, share.packet_id, f"end {name}_count", -1
        yield packet.closed_at_ms, share.packet_id, f"end {name}_fen", -share.amount_fen


def _draw_lines(draw: Draw) -> Iterator[Line]:
    if draw.prize and draw.prize.kind is PrizeKind.PACKET:
        ref = unit_share(draw.prize, draw.unit_no)
        fen = draw.prize.amount_fen or 0
        text = f"won {ref.share_no} {draw.user_id} {fen} {draw.drawn_at_ms}"
        yield draw.drawn_at_ms, ref.packet_id, text, 1


def _won_line(share: Share, sign: int) -> Line:
    user_id = share.taker.user_id if share.taker else ""
    text = f"won {share.share_no} {user_id} {share.amount_fen} {share.decided_at_ms}"
    return share.decided_at_ms, share.packet_id, text, sign


def _member_lines(member: Member) -> Iterator[Line]:
    text = f"member {member.campaign_id} {member.total_fen}"
    yield member.created_at_ms, member.packet_id, text, 1


def _count_lines(count: ClaimCount) -> Iterator[Line]:
    yield count.first_at_ms, f"{count.campaign_id} {count.user_id}", "counted", 1


def _outside_lines(row: OutsideRow) -> Iterator[Line]:
    yield from (_against(_entry_line(entry)) for entry in outside_entries(row))
    yield from (_against(_booked_line(line)) for line in asked_lines(row))


def _booked_line(line: BookedLine) -> Line:
    text = f"{line.kind} {line.number} {line.outside_no}"
    return line.noted_at_ms, line.account, text, line.amount_fen


_ENTRIES: dict[type, Callable[[Any], list[Entry]]] = {
    Payment: payment_entries,
    PaymentRefund: refund_entries,
    Withdrawal: withdrawal_entries,
}

_LINES: dict[type, Callable[[Any], Iterator[Line]]] = {
    Payment: _outside_lines,
    PaymentRefund: _outside_lines,
    PaymentReturn: _outside_lines,
    Withdrawal: _outside_lines,
    BookedLine: lambda line: iter([_booked_line(line)]),
    Entry: lambda entry: iter([_entry_line(entry)]),
    Receipt: lambda receipt: iter([_receipt_line(receipt, 1)]),
    Claimer: lambda taker: iter([_taker_line(taker, 1)]),
    Packet: _packet_lines,
    Member: _member_lines,
    ClaimCount: _count_lines,
    Draw: _draw_lines,
}


def _of_balance(balance: Balance, _: Packet | None) -> Iterator[LocalLine]:
    yield "balance vs entries", 0, balance.balance_fen
    yield OPEN_COUNT, 0, balance.open_count
    for name, number in balance.kept.items():
        yield f"{name} vs entries", 0, number


def _of_entry(entry: Entry, packet: Packet | None) -> Iterator[LocalLine]:
    yield "balance vs entries", entry.amount_fen, 0
    year = year_of(entry.position_ms)
    if entry.kind is TransferKind.SEND:
        yield f"sent_fen_{year} vs entries", -entry.amount_fen, 0
        yield f"sent_count_{year} vs entries", 1, 0
        if packet and packet.counts_as_open and packet.status is not PacketStatus.CLOSED:
            yield OPEN_COUNT, 1, 0
    elif entry.kind is TransferKind.SETTLE:
        yield f"received_fen_{year} vs entries", entry.amount_fen, 0
        yield f"received_count_{year} vs entries", 1, 0
        if packet and packet.end and packet.end.luckiest and packet.has_luckiest:
            end, claim = packet.end, claim_of(entry)
            is_theirs = user_account(packet.end.luckiest.user_id) == entry.account
            if claim and claim[1] == end.luckiest_no and is_theirs:
                yield f"luckiest_count_{year_of(end.luckiest_at_ms)} vs entries", 1, 0


def _of_taker(_: Claimer, packet: Packet | None) -> Iterator[LocalLine]:
    if packet and packet.rules.campaign_id and not packet.rules.prize_id:
        yield packet.rules.campaign_id, 1, 0


def _of_campaign(campaign: Campaign, _: Packet | None) -> Iterator[LocalLine]:
    yield "spent of the budget vs packets", 0, campaign.budget_fen - campaign.budget_left_fen


def _of_member(member: Member, _: Packet | None) -> Iterator[LocalLine]:
    yield "spent of the budget vs packets", member.total_fen, 0


def _of_draw(draw: Draw, _: Packet | None) -> Iterator[LocalLine]:
    yield f"attempts counted {draw.day}", 1, 0
    yield f"sum of the numbers of draws {draw.day}", draw.draw_no, 0
    yield f"wins counted {draw.day}", int(draw.prize is not None), 0
    if draw.prize and draw.prize.once_per_user:
        yield f"rows of the only win of {draw.prize.prize_id} by draw {draw.draw_id}", 1, 0


def _of_player(played: Played, _: Packet | None) -> Iterator[LocalLine]:
    player = played.player
    yield f"attempts counted {player.day}", 0, player.draw_count
    yield f"sum of the numbers of draws {player.day}", 0, player.numbers_sum
    yield f"wins counted {player.day}", 0, player.win_count
    yield f"helps counted {player.day}", 0, player.help_count


def _of_winner(won: WonOnce, _: Packet | None) -> Iterator[LocalLine]:
    yield f"rows of the only win of {won.prize_id} by draw {won.draw_id}", 0, 1


def _of_help(given: HelpGiven, _: Packet | None) -> Iterator[LocalLine]:
    yield f"helps counted {given.day}", 1, 0


def _of_payment(payment: Payment, _: Packet | None) -> Iterator[LocalLine]:
    yield "reversed vs refunds", 0, payment.reversed_fen
    yield "returned vs transactions", 0, payment.returned_fen


def _of_refund(refund: PaymentRefund, _: Packet | None) -> Iterator[LocalLine]:
    yield "reversed vs refunds", refund.reversed_fen, 0
    yield "returned vs transactions", refund.returned_fen, 0


def _of_return(returned: PaymentReturn, _: Packet | None) -> Iterator[LocalLine]:
    is_done = returned.status is ReturnStatus.DONE
    yield "returned vs transactions", returned.amount_fen if is_done else 0, 0


_LOCAL_LINES: dict[type, Callable[[Any, Packet | None], Iterator[LocalLine]]] = {
    Payment: _of_payment,
    PaymentRefund: _of_refund,
    PaymentReturn: _of_return,
    Balance: _of_balance,
    Entry: _of_entry,
    Claimer: _of_taker,
    Campaign: _of_campaign,
    Member: _of_member,
    Draw: _of_draw,
    Played: _of_player,
    WonOnce: _of_winner,
    HelpGiven: _of_help,
}


_OWNERS: dict[type, Callable[[Any], tuple[str, ...]]] = {
    Balance: lambda balance: (balance.account,),
    Entry: lambda entry: (entry.account,),
    Claimer: lambda taker: (taker.user_id,),
    Campaign: lambda campaign: (campaign.campaign_id,),
    Member: lambda member: (member.campaign_id,),
    Draw: lambda draw: (draw.campaign_id, draw.user_id),
    WonOnce: lambda won: (won.campaign_id, won.user_id),
    HelpGiven: lambda given: (given.campaign_id, given.user_id),
    Played: lambda played: (played.campaign_id, played.player.user_id),
    Payment: lambda payment: ("payment", payment.number),
    PaymentRefund: lambda refund: ("payment", refund.number),
    PaymentReturn: lambda returned: ("payment", returned.number),
}


def _against(line: Line) -> Line:
    at_ms, subject, text, amount = line
    return at_ms, subject, text, -amount
