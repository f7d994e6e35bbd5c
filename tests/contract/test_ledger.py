"""Suite for money movements, on the fake and on the AWS emulator."""

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest

from redpacket.ledger.dynamodb import keys
from redpacket.ledger.dynamodb.books import receipt_row
from redpacket.ledger.dynamodb.deposits import DynamoDeposits
from redpacket.ledger.errors import InsufficientFunds
from redpacket.ledger.model import Receipt, YearSums, user_account, year_of
from redpacket.packets.dynamodb import items
from redpacket.packets.dynamodb import keys as packet_keys
from redpacket.packets.model.claim import ShareStatus
from redpacket.packets.model.packet import Kind, Packet, PacketStatus
from redpacket.platform.dynamodb.client import Dynamo, from_wire, to_wire
from redpacket.platform.errors import Busy, IdempotencyKeyReused, InvariantViolated
from redpacket.platform.user import User
from testing.builders import (
    NOW_MS,
    a_claim,
    a_funding,
    a_packet,
    a_packet_id,
    a_user_id,
    list_shares,
)
from testing.fakes import FakeDynamo
from testing.platform.fake_tables import TABLE_NAMES
from testing.reconciliation.checks import packet_held_fen
from tests.contract.tables import (
    PAID_MS,
    REFUNDED_MS,
    Books,
    a_client,
    a_deposit,
    a_request,
    a_settlement,
    some_books,
)

YEAR = year_of(NOW_MS)


@contextmanager
def _replaced(books: Books, table: str, row: dict[str, Any]) -> Iterator[None]:
    """Put a forged row; afterwards, restore the earlier row, or delete the forged one."""
    key = to_wire({name: row[name] for name in ("pk", "sk")})
    before = books.client.get_item(TableName=table, Key=key, ConsistentRead=True).get("Item")
    books.client.put_item(TableName=table, Item=to_wire(row))
    try:
        yield
    finally:
        if before:
            books.client.put_item(TableName=table, Item=before)
        else:
            books.client.delete_item(TableName=table, Key=key)


# ---- accounts


def test_a_deposit_is_posted_once_per_key(books: Books) -> None:
    user_id, request = a_user_id(), a_request("operator")

    for _ in range(3):
        books.deposits.deposit(a_deposit(user_id, 500), request)

    assert books.balance_fen(user_id) == 500


def test_a_key_with_another_body_is_refused(books: Books) -> None:
    user_id, request = a_user_id(), a_request("operator")
    books.deposits.deposit(a_deposit(user_id, 500), request)

    with pytest.raises(IdempotencyKeyReused):
        books.deposits.deposit(a_deposit(user_id, 900), replace(request, body_hash="another"))

    assert books.balance_fen(user_id) == 500


def test_an_unused_account_has_no_balance(books: Books) -> None:
    assert books.balance_fen(a_user_id()) == 0


# ---- send


def test_sending_moves_the_total_into_the_packet(books: Books) -> None:
    packet = books.sent(1000)

    assert books.balance_fen(packet.sender.user_id) == 0
    assert books.packets.find_packet(packet.packet_id) == packet
    (facts,) = [facts for facts in books.ledger_state().packets if facts.packet == packet]
    assert packet_held_fen(facts) == 1000


def test_a_repeated_send_names_the_first_packet_and_moves_nothing(books: Books) -> None:
    sender = User(a_user_id("sender"))
    books.deposited(sender.user_id, 5000)
    request = a_request(sender.user_id)
    first, second = (a_packet(sender=sender) for _ in range(2))
    books.funding.fund(first, a_funding(first), request)

    repeated = books.funding.fund(second, a_funding(second), request)

    assert repeated == first.packet_id
    assert books.packets.find_packet(second.packet_id) is None
    assert books.balance_fen(sender.user_id) == 4000


def test_an_earlier_send_is_found_by_its_idempotency_key(books: Books) -> None:
    sender = User(a_user_id("sender"))
    books.deposited(sender.user_id, 1000)
    packet, request = a_packet(sender=sender), a_request(sender.user_id)
    assert books.funding.find_sent(request) is None

    books.funding.fund(packet, a_funding(packet), request)

    assert books.funding.find_sent(request) == packet.packet_id
    assert books.funding.find_sent(a_request(sender.user_id)) is None
    with pytest.raises(IdempotencyKeyReused):
        books.funding.find_sent(replace(request, body_hash="other"))


def test_a_user_sends_no_more_than_they_have(books: Books) -> None:
    sender = User(a_user_id("sender"))
    books.deposited(sender.user_id, 999)
    packet = a_packet(1000, sender=sender)

    with pytest.raises(InsufficientFunds):
        books.funding.fund(packet, a_funding(packet), a_request(sender.user_id))

    assert books.packets.find_packet(packet.packet_id) is None
    assert books.balance_fen(sender.user_id) == 999


def test_a_refused_send_can_be_repeated_once_the_user_has_money(books: Books) -> None:
    sender = User(a_user_id("sender"))
    request = a_request(sender.user_id)
    packet = a_packet(1000, sender=sender)
    with pytest.raises(InsufficientFunds):
        books.funding.fund(packet, a_funding(packet), request)

    books.deposited(sender.user_id, 1000)

    assert books.funding.fund(packet, a_funding(packet), request) == packet.packet_id


def test_a_packet_id_is_never_reused(books: Books) -> None:
    packet = books.sent(1000)
    books.deposited(packet.sender.user_id, 9000)
    transfer = replace(a_funding(packet), transfer_id=a_user_id("send"))

    with pytest.raises(InvariantViolated):
        books.funding.fund(packet, transfer, a_request(packet.sender.user_id))

    assert books.balance_fen(packet.sender.user_id) == 9000


def test_a_transfer_id_is_never_reused(books: Books) -> None:
    packet = books.sent(1000)
    books.deposited(packet.sender.user_id, 9000)
    other = a_packet(1000, sender=packet.sender)

    with pytest.raises(InvariantViolated):
        books.funding.fund(other, a_funding(packet), a_request(packet.sender.user_id))

    assert books.balance_fen(packet.sender.user_id) == 9000


# ---- settle


def test_settling_credits_each_claimer_once(books: Books) -> None:
    packet = books.sent()
    claimers = [a_user_id("taker") for _ in range(3)]
    shares = [books.claimed(packet, no, user) for no, user in enumerate(claimers, start=1)]
    settlements = [a_settlement(share) for share in shares]

    assert books.ledger.settle(settlements, PAID_MS) == set()
    assert books.ledger.settle(settlements[:1], PAID_MS + 1) == {shares[0].ref}

    assert [books.balance_fen(user) for user in claimers] == [share.amount_fen for share in shares]
    settled = list_shares(books.packets, packet.packet_id)
    assert {share.settled_at_ms for share in settled} == {PAID_MS}


def test_a_claim_that_was_already_paid_is_named_and_cancels_the_whole_group(books: Books) -> None:
    packet = books.sent()
    first = books.settled(packet, 1)
    claimer = a_user_id("taker")
    second = books.claimed(packet, 2, claimer)

    stood = books.ledger.settle([a_settlement(first), a_settlement(second)], PAID_MS + 1)

    assert stood == {first.ref}
    assert books.balance_fen(claimer) == 0


def test_shares_of_one_claimer_in_one_transaction_are_added_up(books: Books) -> None:
    claimer, other = a_user_id("taker"), a_user_id("taker")
    packets = [books.sent() for _ in range(3)]
    shares = [books.claimed(packet, 1, claimer) for packet in packets]
    apart = books.claimed(packets[0], 2, other)

    assert not books.ledger.settle([a_settlement(share) for share in [*shares, apart]], PAID_MS)

    total = sum(share.amount_fen for share in shares)
    assert books.balance_fen(claimer) == total
    assert books.balance_fen(other) == apart.amount_fen
    assert books.ledger.year_sums(claimer, YEAR) == YearSums(received_fen=total, received_count=3)


def test_an_unclaimed_share_is_not_settled(books: Books) -> None:
    packet = books.sent()
    share = a_claim(packet, 1, a_user_id())

    assert books.ledger.settle([a_settlement(share)], PAID_MS) == {share.ref}


@pytest.mark.parametrize("change", [{"amount_fen": 1}, {"claimer": User("mallory")}])
def test_a_settlement_that_differs_from_its_claim_is_refused(
    books: Books, change: dict[str, Any]
) -> None:
    packet = books.sent(4000)
    share, other = (books.claimed(packet, no) for no in (1, 2))
    changed = replace(share, **change)

    stood = books.ledger.settle([a_settlement(changed), a_settlement(other)], PAID_MS)

    assert stood == {share.ref}
    assert not [each for each in list_shares(books.packets, packet.packet_id) if each.settled_at_ms]


def test_a_refunded_share_is_not_settled(books: Books) -> None:
    packet = books.sent()
    assert books.refunded(packet, 1, 2)
    claim = a_claim(packet, 1, a_user_id())

    assert books.ledger.settle([a_settlement(claim)], PAID_MS) == {claim.ref}


def test_a_paid_share_is_not_paid_again_to_the_user_of_a_forged_outcome(
    books: Books,
) -> None:
    packet = books.sent()
    books.settled(packet, 1)
    mallory = a_user_id("mallory")
    forged = a_claim(packet, 1, mallory, decided_at_ms=NOW_MS + 900)
    other = books.claimed(packet, 2)

    with _replaced(books, "shares", items.share_row(forged)):
        stood = books.ledger.settle([a_settlement(forged), a_settlement(other)], PAID_MS + 1)

    assert stood == {forged.ref}
    assert books.balance_fen(mallory) == 0


def test_a_claim_whose_receipt_exists_is_not_settled(books: Books) -> None:
    packet, claimer = books.sent(), a_user_id("taker")
    share = books.claimed(packet, 1, claimer)
    receipt = Receipt(packet.packet_id, 1, user_account("somebody"), share.amount_fen, NOW_MS)

    with _replaced(books, "accounts", receipt_row(receipt)):
        assert books.ledger.settle([a_settlement(share)], PAID_MS) == {share.ref}

    assert books.balance_fen(claimer) == 0


@pytest.mark.parametrize(
    ("held", "stood"), [("#1", {1}), ("user:", {1, 2}), ("shares#", {1, 2, 3})], ids=str
)
def test_claims_whose_rows_are_constantly_locked_are_named(held: str, stood: set[int]) -> None:
    client = _Held()
    books = some_books(client)
    packet = books.sent()
    packets = [packet, books.sent()]
    claimer = a_user_id("taker")
    shares = [books.claimed(each, 1, claimer) for each in packets]
    shares.append(books.claimed(packet, 3))
    numbers = {1: shares[0].ref, 2: shares[1].ref, 3: shares[2].ref}
    client.held = {
        "#1": {f"shares#{packet.packet_id}#0/share#0000001"},
        "user:": {f"user:{claimer}/balance"},
        "shares#": {
            *(f"shares#{each.packet_id}#0/share#0000001" for each in packets),
            f"user:{shares[2].claimer.user_id if shares[2].claimer else ''}/balance",
        },
    }[held]

    unsettled = books.ledger.settle([a_settlement(share) for share in shares], PAID_MS)

    assert unsettled == {numbers[number] for number in stood}
    assert books.balance_fen(claimer) == 0


def test_a_request_in_progress_differs_from_a_locked_balance() -> None:
    client = _Held()
    dynamo = Dynamo(lambda: client, TABLE_NAMES, pause_s=lambda _: None)
    deposits = DynamoDeposits(dynamo)
    key = keys.request("operator", "deposit", "key")
    client.held = {f"{key['pk']}/{key['sk']}"}

    with pytest.raises(Busy):
        deposits.deposit(a_deposit("ann", 5), a_request("operator", "key"))


class _Held(FakeDynamo):
    """DynamoDB in which another transaction holds some rows for as long as the test requires."""

    held: Collection[str] = ()

    def transact_write_items(self, *, TransactItems: list[Any], **token: Any) -> None:  # noqa: N803
        reasons = []
        for operation in TransactItems:
            ((verb, arguments),) = operation.items()
            key = arguments["Item" if verb == "Put" else "Key"]
            is_held = f"{key['pk']['S']}/{key.get('sk', {'S': ''})['S']}" in self.held
            reasons.append({"Code": "TransactionConflict" if is_held else "None"})
        if any(reason["Code"] != "None" for reason in reasons):
            response: Any = {
                "Error": {"Code": "TransactionCanceledException", "Message": "canceled"},
                "CancellationReasons": reasons,
            }
            raise self.exceptions.TransactionCanceledException(response, "TransactWriteItems")
        super().transact_write_items(TransactItems=TransactItems, **token)


# ---- refund


def test_a_refund_writes_the_outcomes_of_shares_and_credits_the_sender(books: Books) -> None:
    packet = books.sent()
    taken = books.settled(packet, 2)

    assert books.refunded(packet, 1, 3, 4)

    assert books.balance_fen(packet.sender.user_id) == 1000 - taken.amount_fen
    outcomes = {
        share.share_no: share.status for share in list_shares(books.packets, packet.packet_id)
    }
    assert outcomes == {
        1: ShareStatus.REFUNDED,
        2: ShareStatus.CLAIMED,
        3: ShareStatus.REFUNDED,
        4: ShareStatus.REFUNDED,
    }


@pytest.mark.parametrize("number", [1, 3])
def test_a_refund_that_conflicts_with_a_claim_has_no_effect(books: Books, number: int) -> None:
    packet = books.sent()
    books.claimed(packet, number)

    assert not books.refunded(packet, 1, 2, 3)

    shares = list_shares(books.packets, packet.packet_id)
    assert [(share.share_no, share.status) for share in shares] == [(number, ShareStatus.CLAIMED)]
    assert books.balance_fen(packet.sender.user_id) == 0


def test_a_share_is_refunded_once(books: Books) -> None:
    packet = books.sent()
    assert books.refunded(packet, 1, 2)

    assert not books.refunded(packet, 2, 3)
    assert not books.refunded(packet, 1, 2)

    assert [share.share_no for share in list_shares(books.packets, packet.packet_id)] == [1, 2]


def test_a_paid_share_is_not_refunded_though_its_outcome_is_missing(books: Books) -> None:
    packet = books.sent()
    share = books.settled(packet, 1)
    key = to_wire(packet_keys.share(packet.packet_id, 1))
    row = books.client.get_item(TableName="shares", Key=key, ConsistentRead=True)["Item"]
    books.client.delete_item(TableName="shares", Key=key)
    try:
        assert not books.refunded(packet, 1)
        assert not books.packets.list_refs([share.ref])
    finally:
        books.client.put_item(TableName="shares", Item=row)


# ---- close


def _with_all_outcomes(books: Books, **changes: Any) -> tuple[Packet, str]:
    """Return a packet that can be closed, and its luckiest user."""
    packet = books.sent(**changes)
    shares = [books.settled(packet, no) for no in (1, 2, 3)]
    assert books.refunded(packet, 4)
    best = max(shares, key=lambda share: (share.amount_fen, -share.decided_at_ms))
    assert best.claimer
    return packet, best.claimer.user_id


def test_closing_writes_the_sums_once_and_counts_the_luckiest(books: Books) -> None:
    packet, luckiest_id = _with_all_outcomes(books)
    end = books.ended(packet)

    assert books.ledger.close(packet, end, PAID_MS)
    assert not books.ledger.close(packet, replace(end, claimed_fen=1), PAID_MS + 1)

    closed = books.packets.find_packet(packet.packet_id)
    assert closed == replace(packet, status=PacketStatus.CLOSED, closed_at_ms=PAID_MS, end=end)
    key = to_wire(packet_keys.packet(packet.packet_id))
    row = books.client.get_item(TableName="packets", Key=key, ConsistentRead=True)["Item"]
    assert "opened_seed" not in row  # The terms were never sealed.
    assert (end.claimed_count, end.refunded_count, end.refunded_at_ms) == (3, 1, REFUNDED_MS)
    assert end.luckiest
    assert end.luckiest.user_id == luckiest_id
    assert books.ledger.year_sums(luckiest_id, YEAR).luckiest_count == 1


def test_equal_shares_have_no_luckiest_to_count(books: Books) -> None:
    packet, luckiest_id = _with_all_outcomes(books, kind=Kind.EQUAL)

    assert books.ledger.close(packet, books.ended(packet), PAID_MS)

    assert books.ledger.year_sums(luckiest_id, YEAR).luckiest_count == 0


def test_a_packet_that_was_refunded_in_full_closes(books: Books) -> None:
    packet = books.sent()
    assert books.refunded(packet, 1, 2, 3, 4)
    end = books.ended(packet)

    assert books.ledger.close(packet, end, REFUNDED_MS)

    closed = books.packets.find_packet(packet.packet_id)
    assert closed
    assert (closed.end, end.luckiest, end.last_claimed_at_ms) == (end, None, 0)


def test_an_unknown_packet_is_not_closed(books: Books) -> None:
    packet, _ = _with_all_outcomes(books)
    stranger = replace(packet, packet_id=a_packet_id())

    assert not books.ledger.close(stranger, books.ended(packet), PAID_MS)

    assert books.packets.find_packet(stranger.packet_id) is None


# ---- receipts off


@pytest.fixture(params=["fake", "moto"])
def bare_books(request: pytest.FixtureRequest) -> Iterator[Books]:
    """Yield a ledger without receipts, but not on the emulator's tables, which other tests
    share.
    """
    with a_client(request.param, request) as client:
        books = some_books(client, has_receipts=False)
        yield books
        differences = books.ledger_state().differences()
        assert not [each for each in differences if not each.what.startswith("receipt of")]


def test_a_ledger_works_without_receipts(bare_books: Books) -> None:
    packet, _ = _with_all_outcomes(bare_books)
    assert bare_books.ledger.close(packet, bare_books.ended(packet), PAID_MS)

    shares = list_shares(bare_books.packets, packet.packet_id)
    assert bare_books.ledger.list_receipts([share.ref for share in shares]) is None
    assert not bare_books.ledger_state().receipts


@pytest.mark.parametrize("is_refunded", [True, False], ids=["refunded", "settled"])
def test_writes_permitted_to_the_public_functions_never_make_a_share_payable_again(
    bare_books: Books, *, is_refunded: bool
) -> None:
    packet = bare_books.sent()
    if is_refunded:
        assert bare_books.refunded(packet, 1)
    else:
        bare_books.settled(packet, 1)
    mallory = a_user_id("mallory")
    forged = a_claim(packet, 1, mallory, decided_at_ms=NOW_MS + 900)
    written = items.share_row(forged)
    before = bare_books.client.get_item(
        TableName="shares", Key=to_wire(packet_keys.share(packet.packet_id, 1)), ConsistentRead=True
    )["Item"]

    # An attacker can make this update with the attributes that template.yaml allows.
    with _replaced(bare_books, "shares", {**from_wire(before), **written}):
        assert bare_books.ledger.settle([a_settlement(forged)], PAID_MS + 1) == {forged.ref}

    assert bare_books.balance_fen(mallory) == 0


def test_a_claim_whose_entry_exists_is_not_paid_again(bare_books: Books) -> None:
    packet, claimer = bare_books.sent(), a_user_id("taker")
    share = bare_books.settled(packet, 1, claimer)
    unsettled = replace(share, settled_at_ms=None)

    with _replaced(bare_books, "shares", items.share_row(unsettled)):
        stood = bare_books.ledger.settle([a_settlement(unsettled, PAID_MS + 1)], PAID_MS + 1)

    assert stood == {share.ref}
    assert bare_books.balance_fen(claimer) == share.amount_fen
