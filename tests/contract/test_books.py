"""Suite for account history, on the fake and on the AWS emulator."""

from dataclasses import replace

import pytest

from redpacket.ledger.model import Entry, TransferKind, YearSums, user_account
from redpacket.ledger.ports import ReceivedItem
from redpacket.packets.model.claim import Share, ShareRef
from redpacket.packets.model.packet import Packet
from redpacket.platform.errors import InvalidRequest
from redpacket.reconciliation.checks.packets import PacketFacts
from redpacket.reconciliation.checks.postings import expected_receipts
from testing.builders import NOW_MS, a_user_id, list_shares
from testing.reconciliation.checks import expected_entries
from tests.contract.tables import PAID_MS, Books, a_deposit, a_request

LONG_AGO_MS = NOW_MS - 400 * 86_400_000
"""Time in 2025."""


def _a_full_book(books: Books) -> str:
    """Return a user with deposits and paid claims, some at equal times."""
    user_id = a_user_id()
    for at_ms in (NOW_MS, NOW_MS + 1, NOW_MS + 1, NOW_MS + 7):
        books.deposits.deposit(a_deposit(user_id, 10, at_ms), a_request("operator"))
    for at_ms in (NOW_MS, NOW_MS + 1, NOW_MS + 1, NOW_MS + 3):
        books.settled(books.sent(), 1, user_id, decided_at_ms=at_ms)
    return user_id


def _order(entry: Entry) -> tuple[int, bool]:
    return -entry.position_ms, entry.kind is TransferKind.SETTLE


def test_account_history_of_any_kind_is_paged_newest_first(books: Books) -> None:
    account = user_account(_a_full_book(books))
    whole = [entry for entry in books.ledger_state().entries if entry.account == account]
    assert len(whole) == 8

    for limit in (1, 2, 3, 5, 8, 20):
        entries: list[Entry] = []
        cursor: str | None = None
        while not entries or cursor:
            page, cursor = books.ledger.list_entries(account, cursor, limit)
            entries += page
            assert len(page) == limit or (len(page) < limit and cursor is None)
        assert sorted(entries, key=str) == sorted(whole, key=str)
        # At equal times, other entries come before claims.
        assert [_order(entry) for entry in entries] == sorted(_order(entry) for entry in whole)


def test_a_settled_claim_is_listed_at_its_claim_time(books: Books) -> None:
    packet, user_id = books.sent(), a_user_id()
    share = books.settled(packet, 1, user_id)

    ((entry,), cursor) = books.ledger.list_entries(user_account(user_id), None, 9)

    assert cursor is None
    assert (entry.at_ms, entry.position_ms) == (PAID_MS, share.decided_at_ms)
    assert (entry.kind, entry.amount_fen) == (TransferKind.SETTLE, share.amount_fen)


def test_unknown_accounts_have_no_history(books: Books) -> None:
    account = user_account(a_user_id())

    assert books.ledger.list_entries(account, None, 9) == ([], None)
    assert books.ledger.list_entries(account, f"claim#{NOW_MS}#packet#1", 9) == ([], None)


_BAD_CURSORS = [
    *("", "x", "entry", "entry#1#x", "paid#1795000000000#x", "entry#1795000000000#"),
    *("claim#1795000000000#a b", f"entry#1795000000000#{'x' * 201}", "balance"),
    "entry#1795000000000#x\n",
]


def test_a_cursor_of_another_list_is_refused(books: Books) -> None:
    for cursor in _BAD_CURSORS:
        with pytest.raises(InvalidRequest):
            books.ledger.list_entries("user:ann", cursor, 9)
        with pytest.raises(InvalidRequest):
            books.ledger.list_received("ann", None, cursor, 9)


# ---- received claims


def _received(books: Books, user_id: str, *times_ms: int) -> list[Share]:
    return [books.settled(books.sent(), 1, user_id, decided_at_ms=at_ms) for at_ms in times_ms]


def test_received_claims_are_paged_newest_first_and_by_year(books: Books) -> None:
    user_id = a_user_id()
    old, *new = _received(books, user_id, LONG_AGO_MS, *(NOW_MS + at for at in (1, 2, 3)))
    books.deposited(user_id, 5)

    def item(share: Share) -> ReceivedItem:
        return ReceivedItem(share.packet_id, 1, share.amount_fen, share.decided_at_ms)

    first, cursor = books.ledger.list_received(user_id, 2026, None, 2)
    second, end = books.ledger.list_received(user_id, 2026, cursor, 2)

    assert first == [item(new[2]), item(new[1])]
    assert (second, end) == ([item(new[0])], None)
    assert books.ledger.list_received(user_id, 2025, None, 9) == ([item(old)], None)
    assert books.ledger.list_received(user_id, 2025, cursor, 9) == ([item(old)], None)
    assert books.ledger.list_received(user_id, 2027, cursor, 9) == ([], None)
    assert books.ledger.list_received(user_id, 2024, None, 9) == ([], None)
    everything, _ = books.ledger.list_received(user_id, None, None, 9)
    assert everything == [item(share) for share in (*reversed(new), old)]


def test_claims_of_the_same_millisecond_are_all_listed(books: Books) -> None:
    user_id = a_user_id()
    shares = _received(books, user_id, *[NOW_MS + 5] * 4)
    received_items, cursor = books.ledger.list_received(user_id, 2026, None, 3)
    rest, end = books.ledger.list_received(user_id, 2026, cursor, 3)

    assert {received_item.packet_id for received_item in [*received_items, *rest]} == {
        share.packet_id for share in shares
    }
    assert (len(received_items), len(rest), end) == (3, 1, None)


def test_sums_are_kept_by_the_year_of_the_claim_and_of_the_send(books: Books) -> None:
    user_id = a_user_id()
    old, new, newest = _received(books, user_id, LONG_AGO_MS, NOW_MS, NOW_MS + 1)
    sender_id = books.sent(700).sender.user_id

    def received(*shares: Share) -> YearSums:
        return YearSums(
            received_fen=sum(share.amount_fen for share in shares), received_count=len(shares)
        )

    assert books.ledger.year_sums(user_id, 2025) == received(old)
    assert books.ledger.year_sums(user_id, 2026) == received(new, newest)
    assert books.ledger.year_sums(user_id, None) == received(old, new, newest)
    assert books.ledger.year_sums(user_id, 2024) == YearSums()
    assert books.ledger.year_sums(sender_id, 2026) == YearSums(sent_fen=700, sent_count=1)
    assert books.ledger.year_sums(a_user_id(), None) == YearSums()


def test_refunds_do_not_count_as_received(books: Books) -> None:
    packet = books.sent(700)
    assert books.refunded(packet, 1, 2, 3, 4)

    assert books.ledger.year_sums(packet.sender.user_id, None) == YearSums(
        sent_fen=700, sent_count=1
    )
    assert books.ledger.list_received(packet.sender.user_id, None, None, 9) == ([], None)


# ---- queries of an audit


def _facts(books: Books) -> tuple[Packet, PacketFacts]:
    packet = books.sent()
    claimer = a_user_id()
    books.settled(packet, 1, claimer)
    books.claimed(packet, 2)
    assert books.refunded(packet, 3, 4)
    return packet, PacketFacts(packet, list_shares(books.packets, packet.packet_id))


def test_entries_are_found_under_the_ids_in_the_outcomes_of_a_packet(books: Books) -> None:
    _, facts = _facts(books)
    wanted = expected_entries(facts)
    assert len(wanted) == 3
    elsewhere = [replace(entry, at_ms=entry.at_ms + 1, placed_at_ms=1) for entry in wanted]

    entries = books.ledger.list_postings([*wanted, *elsewhere])

    assert sorted(entries, key=str) == sorted(wanted, key=str)
    assert books.ledger.list_postings([]) == []


def test_receipts_of_shares_whose_money_moved_are_found(books: Books) -> None:
    packet, facts = _facts(books)
    refs = [ShareRef(packet.packet_id, number) for number in (1, 2, 3, 4, 5)]

    receipts = books.ledger.list_receipts(refs)

    assert receipts is not None
    assert sorted(receipts, key=str) == sorted(expected_receipts(facts), key=str)
    assert [receipt.share_no for receipt in sorted(receipts, key=str)] == [1, 3, 4]
    assert books.ledger.list_receipts([]) == []


def test_entries_and_receipts_beyond_one_call_are_read(books: Books) -> None:
    packet, facts = _facts(books)
    refs = [ShareRef(packet.packet_id, number) for number in range(1, 252)]
    (settled,) = [entry for entry in expected_entries(facts) if entry.kind is TransferKind.SETTLE]
    others = [replace(settled, placed_at_ms=number) for number in range(1, 252)]

    receipts = books.ledger.list_receipts(refs)

    assert receipts is not None
    assert len(receipts) == 3
    assert books.ledger.list_postings([*others, settled]) == [settled]
