"""One suite for the ledger's adapters on the fake, on moto, and on the AWS emulator."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import boto3
import pytest
from moto import mock_aws

from local.stack import Stack
from redpacket.adapters import keys
from redpacket.adapters.dynamo import Dynamo, to_wire
from redpacket.adapters.dynamo_ledger import DynamoLedger
from redpacket.adapters.dynamo_packets import DynamoPackets
from redpacket.domain.checks import PacketFacts
from redpacket.domain.claim import Fate, RecordStatus, ShareFate, ShareRef, Taker
from redpacket.domain.errors import (
    IdempotencyKeyReused,
    InsufficientFunds,
    InvariantViolated,
)
from redpacket.domain.ledger import (
    DEPOSITS,
    Transfer,
    TransferKind,
    escrow_account,
    user_account,
)
from redpacket.domain.packet import Packet, PacketStatus, Person
from redpacket.ports import Paid, Request
from tests.builders import NOW_MS, a_claim, a_funding, a_packet, a_packet_id, a_refund
from tests.fakes import FakeDynamo
from tests.world import World, lasting, read_world

_numbers = itertools.count(1)


@dataclass
class Books:
    """The adapters under test, and a look at everything that they wrote."""

    ledger: DynamoLedger
    packets: DynamoPackets
    client: Any
    accounts_table: str
    packets_table: str
    quotas_table: str

    def world(self) -> World:
        return read_world(
            self.client, self.accounts_table, self.packets_table, quotas_table=self.quotas_table
        )

    def deposited(self, user_id: str, amount_fen: int) -> None:
        self.ledger.deposit(_deposit(user_id, amount_fen), _request(user_id="operator"))

    def sent(self, total_fen: int = 1000, count: int = 4, parts: int = 1) -> Packet:
        sender = Person(_name("sender"))
        self.deposited(sender.user_id, total_fen)
        packet = a_packet(total_fen, count, sender=sender, packet_id=a_packet_id(parts))
        self.ledger.fund(packet, a_funding(packet), _request(sender.user_id))
        return packet


@pytest.fixture(params=["fake", "moto", "emulator"])
def books(request: pytest.FixtureRequest) -> Iterator[Books]:
    if request.param == "fake":
        yield _books(FakeDynamo(), "accounts", "packets", "quotas")
    elif request.param == "moto":
        with mock_aws():
            client = boto3.client(
                "dynamodb",
                region_name="us-east-1",
                aws_access_key_id="test",
                aws_secret_access_key="test",
            )
            _make_tables(client)
            yield _books(client, "accounts", "packets", "quotas")
    else:
        stack: Stack = request.getfixturevalue("stack")
        names = ("AccountsTable", "PacketsTable", "QuotasTable")
        yield _books(stack.aws("dynamodb"), *(stack.outputs[name] for name in names))


@pytest.fixture(autouse=True)
def _invariants(books: Books) -> Iterator[None]:
    yield
    assert not lasting(lambda: books.world().differences())


def _books(client: Any, accounts_table: str, packets_table: str, quotas_table: str) -> Books:
    dynamo = Dynamo(lambda: client)
    return Books(
        DynamoLedger(dynamo, accounts_table, packets_table),
        DynamoPackets(dynamo, packets_table, quotas_table),
        client,
        accounts_table,
        packets_table,
        quotas_table,
    )


def _make_tables(client: Any) -> None:
    string, number = "S", "N"
    key = [
        {"AttributeName": "pk", "KeyType": "HASH"},
        {"AttributeName": "sk", "KeyType": "RANGE"},
    ]
    types = {"pk": string, "sk": string}
    index_types = {
        "work_pk": string,
        "work_at_ms": number,
        "list_pk": string,
        "list_sk": string,
    }

    def defined(attributes: dict[str, str]) -> list[dict[str, str]]:
        return [{"AttributeName": n, "AttributeType": t} for n, t in attributes.items()]

    def index(name: str, hash_key: str, range_key: str) -> dict[str, Any]:
        return {
            "IndexName": name,
            "KeySchema": [
                {"AttributeName": hash_key, "KeyType": "HASH"},
                {"AttributeName": range_key, "KeyType": "RANGE"},
            ],
            "Projection": {"ProjectionType": "ALL"},
        }

    client.create_table(
        TableName="quotas",
        KeySchema=key[:1],
        AttributeDefinitions=defined({"pk": string}),
        BillingMode="PAY_PER_REQUEST",
    )
    client.create_table(
        TableName="accounts",
        KeySchema=key,
        AttributeDefinitions=defined(types),
        BillingMode="PAY_PER_REQUEST",
    )
    client.create_table(
        TableName="packets",
        KeySchema=key,
        AttributeDefinitions=defined({**types, **index_types}),
        BillingMode="PAY_PER_REQUEST",
        GlobalSecondaryIndexes=[
            index("by_work", "work_pk", "work_at_ms"),
            index("by_list", "list_pk", "list_sk"),
        ],
    )


def _name(kind: str) -> str:
    return f"{kind}-{next(_numbers)}"


def _request(user_id: str, key: str | None = None, body_hash: str = "body") -> Request:
    return Request(user_id, key or _name("key"), body_hash)


def _deposit(user_id: str, amount_fen: int) -> Transfer:
    return Transfer(
        _name("deposit"),
        TransferKind.DEPOSIT,
        DEPOSITS,
        user_account(user_id),
        amount_fen,
        NOW_MS,
    )


def _settlement(share: ShareFate, amount_fen: int | None = None) -> tuple[ShareFate, Transfer]:
    assert share.taker
    return share, Transfer(
        f"settle:{share.packet_id}:{share.share_no}",
        TransferKind.SETTLE,
        escrow_account(share.packet_id),
        user_account(share.taker.user_id),
        amount_fen or share.amount_fen,
        NOW_MS + 5000,
    )


def _claimed(books: Books, packet: Packet, share_no: int, user_id: str) -> ShareFate:
    share = a_claim(packet, share_no, user_id)
    assert books.packets.record_claim(share) is RecordStatus.RECORDED
    return share


def _refund(books: Books, packet: Packet, *share_nos: int) -> bool:
    shares = [a_refund(packet, share_no) for share_no in share_nos]
    transfer = Transfer(
        f"refund:{packet.packet_id}:{share_nos[0]}",
        TransferKind.REFUND,
        escrow_account(packet.packet_id),
        user_account(packet.sender.user_id),
        sum(share.amount_fen for share in shares),
        NOW_MS + 9000,
    )
    return books.ledger.refund([(shares, transfer)], NOW_MS + 9000)


def _row_of(books: Books, key: dict[str, str]) -> dict[str, Any]:
    found = books.client.get_item(
        TableName=books.packets_table, Key=to_wire(key), ConsistentRead=True
    )
    row: dict[str, Any] = found["Item"]
    return row


@contextmanager
def _without(books: Books, key: dict[str, str]) -> Iterator[None]:
    """Take a row away, as nothing of ours may, and put it back."""
    row = _row_of(books, key)
    books.client.delete_item(TableName=books.packets_table, Key=to_wire(key))
    try:
        yield
    finally:
        books.client.put_item(TableName=books.packets_table, Item=row)


# ---- accounts


def test_a_deposit_is_posted_once_per_key(books: Books) -> None:
    user_id, request = _name("user"), _request("operator")

    for _ in range(3):
        books.ledger.deposit(_deposit(user_id, 500), request)

    assert books.ledger.balance_fen(user_account(user_id)) == 500


def test_a_key_that_comes_with_another_body_is_refused(books: Books) -> None:
    user_id, request = _name("user"), _request("operator")
    books.ledger.deposit(_deposit(user_id, 500), request)

    with pytest.raises(IdempotencyKeyReused):
        books.ledger.deposit(_deposit(user_id, 900), replace(request, body_hash="another"))

    assert books.ledger.balance_fen(user_account(user_id)) == 500


def test_an_account_that_never_moved_holds_nothing(books: Books) -> None:
    assert books.ledger.balance_fen(user_account(_name("user"))) == 0


def test_an_account_is_empty_that_holds_nothing_or_never_moved(books: Books) -> None:
    spent, held = books.sent(), books.sent()
    escrow = escrow_account(held.packet_id)
    never_moved = user_account(_name("user"))
    sender = user_account(spent.sender.user_id)

    assert books.ledger.list_empty([]) == set()
    assert books.ledger.list_empty([sender, escrow, never_moved, sender]) == {sender, never_moved}


def test_a_book_is_paged_newest_first(books: Books) -> None:
    user_id = _name("user")
    for number in range(5):
        deposit = replace(_deposit(user_id, 100 + number), at_ms=NOW_MS + number)
        books.ledger.deposit(deposit, _request("operator"))
    account = user_account(user_id)

    first, cursor = books.ledger.list_entries(account, None, 2)
    second, cursor = books.ledger.list_entries(account, cursor, 2)
    third, end = books.ledger.list_entries(account, cursor, 2)

    amounts = [entry.amount_fen for entry in [*first, *second, *third]]
    assert amounts == [104, 103, 102, 101, 100]
    assert end is None


# ---- send


def test_sending_moves_the_total_into_escrow(books: Books) -> None:
    packet = books.sent(1000)

    assert books.ledger.balance_fen(user_account(packet.sender.user_id)) == 0
    assert books.ledger.balance_fen(escrow_account(packet.packet_id)) == 1000
    assert books.packets.find_packet(packet.packet_id) == packet


def test_a_repeated_send_names_the_first_packet_and_moves_nothing(books: Books) -> None:
    sender = Person(_name("sender"))
    books.deposited(sender.user_id, 5000)
    request = _request(sender.user_id)
    first, second = (a_packet(sender=sender) for _ in range(2))
    books.ledger.fund(first, a_funding(first), request)

    repeated = books.ledger.fund(second, a_funding(second), request)

    assert repeated == first.packet_id
    assert books.packets.find_packet(second.packet_id) is None
    assert books.ledger.balance_fen(user_account(sender.user_id)) == 4000


def test_what_a_request_sent_before_is_found_by_its_key(books: Books) -> None:
    sender = Person(_name("sender"))
    books.deposited(sender.user_id, 1000)
    packet, request = a_packet(sender=sender), _request(sender.user_id)
    assert books.ledger.find_sent(request) is None

    books.ledger.fund(packet, a_funding(packet), request)

    assert books.ledger.find_sent(request) == packet.packet_id
    assert books.ledger.find_sent(_request(sender.user_id)) is None
    with pytest.raises(IdempotencyKeyReused):
        books.ledger.find_sent(replace(request, body_hash="other"))


def test_nobody_sends_more_than_they_have(books: Books) -> None:
    sender = Person(_name("sender"))
    books.deposited(sender.user_id, 999)
    packet = a_packet(1000, sender=sender)

    with pytest.raises(InsufficientFunds):
        books.ledger.fund(packet, a_funding(packet), _request(sender.user_id))

    assert books.packets.find_packet(packet.packet_id) is None
    assert books.ledger.balance_fen(user_account(sender.user_id)) == 999


def test_a_refused_send_may_be_repeated_once_there_is_money(books: Books) -> None:
    sender = Person(_name("sender"))
    request = _request(sender.user_id)
    packet = a_packet(1000, sender=sender)
    with pytest.raises(InsufficientFunds):
        books.ledger.fund(packet, a_funding(packet), request)

    books.deposited(sender.user_id, 1000)

    assert books.ledger.fund(packet, a_funding(packet), request) == packet.packet_id


def test_a_packet_id_is_never_used_again(books: Books) -> None:
    packet = books.sent(1000)
    books.deposited(packet.sender.user_id, 9000)
    transfer = replace(a_funding(packet), transfer_id=_name("send"))

    with pytest.raises(InvariantViolated):
        books.ledger.fund(packet, transfer, _request(packet.sender.user_id))

    assert books.ledger.balance_fen(user_account(packet.sender.user_id)) == 9000


def test_a_transfer_id_is_never_used_again(books: Books) -> None:
    packet = books.sent(1000)
    books.deposited(packet.sender.user_id, 9000)
    other = a_packet(1000, sender=packet.sender)

    with pytest.raises(InvariantViolated):
        books.ledger.fund(other, a_funding(packet), _request(packet.sender.user_id))

    assert books.ledger.balance_fen(user_account(packet.sender.user_id)) == 9000


# ---- fates


def test_a_claim_is_recorded_once(books: Books) -> None:
    packet = books.sent()
    share = _claimed(books, packet, 1, "ann")

    again = books.packets.record_claim(replace(share, decided_at_ms=NOW_MS + 999))

    assert again is RecordStatus.USER_HAS_SHARE
    assert books.packets.find_share_of(packet.packet_id, "ann") == share


def test_a_share_belongs_to_the_first_who_recorded_it(books: Books) -> None:
    packet = books.sent()
    _claimed(books, packet, 1, "ann")

    assert books.packets.record_claim(a_claim(packet, 1, "bob")) == "share_taken"
    assert books.packets.find_share_of(packet.packet_id, "bob") is None


def test_a_user_who_has_a_share_gets_no_second_one(books: Books) -> None:
    packet = books.sent()
    _claimed(books, packet, 2, "ann")

    second = books.packets.record_claim(a_claim(packet, 3, "ann"))

    assert second is RecordStatus.USER_HAS_SHARE
    assert [share.share_no for share in books.packets.list_shares(packet.packet_id)] == [2]


def test_a_refunded_share_can_not_be_claimed(books: Books) -> None:
    packet = books.packets.begin_close(books.sent(), NOW_MS + 8000)
    assert _refund(books, packet, 1, 2)

    assert books.packets.record_claim(a_claim(packet, 2, "ann")) == "share_refunded"


def test_takers_are_listed_with_what_they_have(books: Books) -> None:
    packet = books.sent()
    share = _claimed(books, packet, 2, "ann")

    found = books.packets.list_takers(packet.packet_id, ["ann", "bob", "", "ann"])

    assert found == [Taker(packet.packet_id, "ann", 2, share.amount_fen)]
    assert books.packets.list_takers(packet.packet_id, []) == []


def test_a_hundred_takers_and_more_are_read_in_calls_that_are_allowed(books: Books) -> None:
    packet = books.sent()
    _claimed(books, packet, 1, "user-250")
    everybody = [f"user-{number}" for number in range(251)]

    found = books.packets.list_takers(packet.packet_id, everybody)

    assert [taker.user_id for taker in found] == ["user-250"]


@pytest.mark.parametrize("parts", [1, 3])
def test_a_scan_brings_packets_takers_and_shares_of_no_packet(books: Books, parts: int) -> None:
    packet, lost = books.sent(parts=parts), books.sent(parts=parts)
    share = _claimed(books, packet, 1, "ann")
    stray = _claimed(books, lost, 2, "bob")

    with _without(books, keys.packet(lost.packet_id)):
        found = list(books.packets.scan_packets({escrow_account(packet.packet_id): 7}))

    ours = {packet.packet_id, lost.packet_id}
    facts = [one for one in found if isinstance(one, PacketFacts)]
    assert [one for one in facts if one.packet.packet_id in ours] == [
        PacketFacts(packet, [share], 7)
    ]
    assert {one for one in found if isinstance(one, Taker) and one.packet_id in ours} == {
        Taker(packet.packet_id, "ann", 1, share.amount_fen),
        Taker(lost.packet_id, "bob", 2, stray.amount_fen),
    }
    assert [one for one in found if isinstance(one, ShareFate)] == [stray]


def test_fates_are_listed_in_order(books: Books) -> None:
    packet = books.sent()
    for share_no, user_id in ((3, "ann"), (1, "bob")):
        _claimed(books, packet, share_no, user_id)

    listed = books.packets.list_shares(packet.packet_id)
    named = books.packets.list_refs([ShareRef(packet.packet_id, n) for n in (1, 2, 3, 3)])

    assert [share.share_no for share in listed] == [1, 3]
    assert {share.share_no for share in named} == {1, 3}
    assert books.packets.list_refs([]) == []


def test_fates_of_a_packet_in_parts_are_listed_by_part_and_all_together(books: Books) -> None:
    packet = books.sent(parts=2)
    for share_no, user_id in ((4, "ann"), (1, "bob"), (2, "cem")):
        _claimed(books, packet, share_no, user_id)

    even, odd = (books.packets.list_part_shares(packet.packet_id, part) for part in (1, 0))
    listed = books.packets.list_shares(packet.packet_id)
    waiting = books.packets.list_unsettled(NOW_MS + 5000, 800)

    assert [share.share_no for share in even] == [2, 4]
    assert [share.share_no for share in odd] == [1]
    assert [share.share_no for share in listed] == [1, 2, 4]
    assert {ShareRef(packet.packet_id, number) for number in (1, 2, 4)} <= set(waiting)
    assert books.packets.record_claim(a_claim(packet, 4, "dan")) == "share_taken"


# ---- settle


def test_settling_credits_each_taker_once(books: Books) -> None:
    packet = books.sent()
    takers = [_name("taker") for _ in range(3)]
    shares = [_claimed(books, packet, no, user) for no, user in enumerate(takers, start=1)]

    assert books.ledger.settle([_settlement(share) for share in shares], NOW_MS + 5000)
    assert not books.ledger.settle([_settlement(shares[0])], NOW_MS + 6000)

    balances = [books.ledger.balance_fen(user_account(user)) for user in takers]
    assert balances == [share.amount_fen for share in shares]
    settled = books.packets.list_shares(packet.packet_id)
    assert {share.settled_at_ms for share in settled} == {NOW_MS + 5000}


def test_an_escrow_counts_what_it_has_paid_and_nothing_else(books: Books) -> None:
    packet, other = books.sent(), books.sent()
    shares = [_claimed(books, packet, no, _name("taker")) for no in (1, 2, 3)]
    strange = _claimed(books, other, 1, _name("taker"))

    assert books.ledger.find_paid(packet.packet_id) == Paid(0, 0)
    books.ledger.settle([_settlement(share) for share in (shares[0], strange)], NOW_MS + 5000)
    books.ledger.settle([_settlement(share) for share in shares], NOW_MS + 5000)  # refused
    books.ledger.settle([_settlement(shares[1])], NOW_MS + 5000)
    books.packets.begin_close(packet, NOW_MS)
    assert _refund(books, packet, 4)

    paid_fen = shares[0].amount_fen + shares[1].amount_fen
    assert books.ledger.find_paid(packet.packet_id) == Paid(2, paid_fen)
    assert books.ledger.find_paid("nobody-sent-this-one-x") == Paid(0, 0)


def test_one_settled_claim_cancels_the_whole_group(books: Books) -> None:
    packet = books.sent()
    first, second = (_claimed(books, packet, no, _name("taker")) for no in (1, 2))
    books.ledger.settle([_settlement(first)], NOW_MS + 5000)

    assert not books.ledger.settle([_settlement(first), _settlement(second)], NOW_MS + 6000)

    assert second.taker
    assert books.ledger.balance_fen(user_account(second.taker.user_id)) == 0


def test_claims_of_many_packets_and_one_taker_settle_together(books: Books) -> None:
    taker = _name("taker")
    shares = [_claimed(books, books.sent(), 1, taker) for _ in range(3)]

    assert books.ledger.settle([_settlement(share) for share in shares], NOW_MS + 5000)

    total = sum(share.amount_fen for share in shares)
    assert books.ledger.balance_fen(user_account(taker)) == total


def test_what_was_never_claimed_is_not_settled(books: Books) -> None:
    packet = books.sent()

    assert not books.ledger.settle([_settlement(a_claim(packet, 1, "ann"))], NOW_MS)


@pytest.mark.parametrize("change", [{"amount_fen": 1}, {"taker": Person("mallory")}])
def test_a_settlement_that_differs_from_the_claim_is_refused(
    books: Books, change: dict[str, Any]
) -> None:
    packet = books.sent(4000)
    share = _claimed(books, packet, 1, "ann")

    assert not books.ledger.settle([_settlement(replace(share, **change))], NOW_MS)


# ---- close and refund


def test_only_a_closing_packet_is_refunded(books: Books) -> None:
    packet = books.sent()

    assert not _refund(books, packet, 1)

    assert _refund(books, books.packets.begin_close(packet, NOW_MS), 1)


def test_a_refund_that_meets_a_claim_has_no_effect_at_all(books: Books) -> None:
    packet = books.packets.begin_close(books.sent(), NOW_MS)
    _claimed(books, packet, 2, "ann")

    assert not _refund(books, packet, 1, 2, 3)

    shares = books.packets.list_shares(packet.packet_id)
    assert [(share.share_no, share.fate) for share in shares] == [(2, Fate.CLAIMED)]


def test_a_packet_closes_once_its_escrow_is_empty(books: Books) -> None:
    packet = books.packets.begin_close(books.sent(), NOW_MS)
    share = _claimed(books, packet, 1, _name("taker"))
    assert _refund(books, packet, 2, 3, 4)

    assert not books.ledger.close(packet, NOW_MS)
    books.ledger.settle([_settlement(share)], NOW_MS)
    assert books.ledger.close(packet, NOW_MS + 1)

    closed = books.packets.find_packet(packet.packet_id)
    assert closed
    assert (closed.status, closed.closed_at_ms) == (PacketStatus.CLOSED, NOW_MS + 1)
    assert closed.refunded_fen == 1000 - share.amount_fen
    assert not books.ledger.close(packet, NOW_MS + 2)


def test_an_open_packet_does_not_close(books: Books) -> None:
    assert not books.ledger.close(books.sent(), NOW_MS)


def test_closing_may_begin_again(books: Books) -> None:
    packet = books.sent()

    first = books.packets.begin_close(packet, NOW_MS)
    second = books.packets.begin_close(packet, NOW_MS + 5)

    assert first == second
    assert first.status is PacketStatus.CLOSING


def test_a_packet_that_can_not_be_closed_goes_to_the_end_of_the_list(books: Books) -> None:
    packet = books.sent()

    books.packets.begin_close(packet, NOW_MS + 5)

    assert packet.packet_id not in books.packets.list_due(NOW_MS + 4, 800)
    assert packet.packet_id in books.packets.list_due(NOW_MS + 5, 800)


def test_a_closed_packet_stays_closed(books: Books) -> None:
    packet = books.packets.begin_close(books.sent(), NOW_MS)
    _refund(books, packet, 1, 2, 3, 4)
    books.ledger.close(packet, NOW_MS)

    again = books.packets.begin_close(packet, NOW_MS + 5)

    assert again.status is PacketStatus.CLOSED
    assert packet.packet_id not in books.packets.list_due(NOW_MS + 5, 800)


# ---- work lists


def test_a_packet_waits_for_its_load_and_then_for_its_end(books: Books) -> None:
    packet = books.sent()
    later_ms = packet.expires_at_ms + 1

    assert packet.packet_id in books.packets.list_unloaded(NOW_MS, 800)
    assert packet.packet_id not in books.packets.list_due(later_ms, 800)
    books.packets.mark_loaded(packet)
    assert packet.packet_id not in books.packets.list_unloaded(NOW_MS, 800)
    assert packet.packet_id not in books.packets.list_due(packet.expires_at_ms - 1, 800)
    assert packet.packet_id in books.packets.list_due(later_ms, 800)


def test_a_closed_packet_waits_for_nothing(books: Books) -> None:
    packet = books.packets.begin_close(books.sent(), NOW_MS)
    assert packet.packet_id in books.packets.list_due(packet.expires_at_ms, 800)

    _refund(books, packet, 1, 2, 3, 4)
    books.ledger.close(packet, NOW_MS)

    assert packet.packet_id not in books.packets.list_due(packet.expires_at_ms, 800)


def test_marking_a_load_again_does_not_reopen_a_closed_packet(books: Books) -> None:
    packet = books.packets.begin_close(books.sent(), NOW_MS)
    _refund(books, packet, 1, 2, 3, 4)
    books.ledger.close(packet, NOW_MS)

    books.packets.mark_loaded(packet)

    assert packet.packet_id not in books.packets.list_due(packet.expires_at_ms, 800)


def test_a_claim_waits_until_it_is_settled(books: Books) -> None:
    packet = books.sent()
    share = _claimed(books, packet, 1, _name("taker"))

    assert share.ref in books.packets.list_unsettled(share.decided_at_ms, 800)
    books.packets.mark_requeued(share, share.decided_at_ms + 50)
    assert share.ref not in books.packets.list_unsettled(share.decided_at_ms + 49, 800)
    books.ledger.settle([_settlement(share)], NOW_MS)
    assert share.ref not in books.packets.list_unsettled(share.decided_at_ms + 99, 800)
    (settled,) = books.packets.list_refs([share.ref])
    books.packets.mark_requeued(settled, share.decided_at_ms)
    assert share.ref not in books.packets.list_unsettled(share.decided_at_ms + 99, 800)
    assert books.packets.list_refs([share.ref]) == [settled]


# ---- lists


def test_users_see_what_they_sent_and_took_by_year(books: Books) -> None:
    packet = books.sent(4000)
    taker = _name("taker")
    share = _claimed(books, packet, 1, taker)
    books.packets.mark_luckiest(share)
    sender_id = packet.sender.user_id

    sent = books.packets.list_sent(sender_id, None)
    received = books.packets.list_received(taker, 2026)

    assert [(item.packet_id, item.amount_fen) for item in sent] == [(packet.packet_id, 4000)]
    assert [(item.amount_fen, item.is_luckiest) for item in received] == [(share.amount_fen, True)]
    assert books.packets.list_received(taker, 2025) == []
    assert books.packets.list_sent(sender_id, 2027) == []


def test_when_a_packet_was_emptied_is_noted_once(books: Books) -> None:
    packet = books.sent()

    books.packets.mark_emptied(packet.packet_id, NOW_MS + 5)
    books.packets.mark_emptied(packet.packet_id, NOW_MS + 9)

    noted = books.packets.find_packet(packet.packet_id)
    assert noted
    assert noted.emptied_at_ms == NOW_MS + 5
    assert [found.packet_id for found in books.packets.list_packets([packet.packet_id])] == [
        packet.packet_id
    ]
