"""Retries with old idempotency keys whose request rows were lost have no second effect."""

from dataclasses import replace

import pytest

from redpacket.lottery.model.lottery import PrizeKind
from redpacket.payments.model.provider import StatementKind
from redpacket.payments.model.withdrawals import LEASE_MS
from redpacket.platform.errors import IdempotencyKeyReused, Unavailable
from redpacket.platform.idempotency import Request
from testing.builders import a_prize
from testing.fakes import FakeDynamo
from testing.in_memory_system import InMemorySystem, an_order
from testing.payments.payment_system import PaymentSystem
from testing.platform.fake_tables import Item, Key

COPY = "accounts"
"""Table that has a copy of each request row."""

Rows = dict[str, dict[Key, Item]]

DAY_MS = 24 * 3_600_000


@pytest.fixture
def town(town: PaymentSystem) -> PaymentSystem:
    town.system.deposit("user", 1000)
    return town


def _forget(dynamo: FakeDynamo, table: str) -> None:
    """Delete only a table's request rows."""
    rows = dynamo.tables[table]
    lost = [key for key in rows if "request#" in key[0] or key[1].startswith("request#")]
    assert lost
    for key in lost:
        del rows[key]


def _restore(dynamo: FakeDynamo, before: Rows, *tables: str) -> None:
    """Restore some tables, or all if none is named, to the rows *before*."""
    dynamo.hold(dynamo.rows() | {name: before.get(name, {}) for name in tables or dynamo.tables})


def test_one_key_has_different_ids_for_other_users_and_routes() -> None:
    request = Request("ann", "key", "body")

    ids = {
        request.id_of("payment"),
        request.id_of("withdrawal"),
        Request("bob", "key", "body").id_of("payment"),
        Request("ann", "other", "body").id_of("payment"),
    }

    assert len(ids) == 4
    assert Request("ann", "key", "edited").id_of("payment") in ids


@pytest.mark.parametrize("table", ["payments", COPY])
def test_a_withdrawal_whose_request_was_lost_is_held_once(town: PaymentSystem, table: str) -> None:
    first = town.withdraw("user", 600, key="key")
    _forget(town.system.dynamo, table)
    town.system.pass_time(60_000)

    again = town.withdraw("user", 600, key="key")
    with pytest.raises(IdempotencyKeyReused):
        town.withdraw("user", 300, key="key")
    other = town.withdraw("user", 300, key="other")

    assert again == town.find(first)
    assert other.withdrawal_id != first.withdrawal_id
    assert town.balance_fen() == 100
    assert town.differences() == []


def test_a_lost_request_answers_after_its_account_was_unlinked(town: PaymentSystem) -> None:
    first = town.withdraw("user", 600, key="key")
    _forget(town.system.dynamo, "payments")
    town.payees.bound["user"] = None

    again = town.withdraw("user", 600, key="key")

    assert again.withdrawal_id == first.withdrawal_id


def test_a_withdrawal_lost_only_by_a_restore_is_not_held_again(town: PaymentSystem) -> None:
    before = town.system.dynamo.rows()
    town.withdraw("user", 300, key="key")
    _restore(town.system.dynamo, before, "payments")

    with pytest.raises(Unavailable):
        town.withdraw("user", 300, key="key")

    assert town.balance_fen() == 700


def test_a_hold_lost_only_by_a_restore_makes_no_second_transfer(town: PaymentSystem) -> None:
    before = town.system.dynamo.rows()
    first = town.withdraw("user", 300, key="key")
    town.dispatch()
    _restore(town.system.dynamo, before, "accounts")

    again = town.withdraw("user", 300, key="key")
    town.sweep_after(LEASE_MS)
    town.dispatch()

    assert again.withdrawal_id == first.withdrawal_id
    assert len(town.gateway.lines(StatementKind.TRANSFER)) == 1


def test_a_withdrawal_that_every_table_lost_is_paid_once(town: PaymentSystem) -> None:
    before = town.system.dynamo.rows()
    town.withdraw("user", 300, key="key")
    town.dispatch()
    town.sweep_after(LEASE_MS)
    _restore(town.system.dynamo, before)
    town.system.pass_time(DAY_MS)

    town.withdraw("user", 300, key="key")
    town.dispatch()
    town.sweep_after(LEASE_MS)

    assert town.balance_fen() == 700
    assert len(town.gateway.lines(StatementKind.TRANSFER)) == 1
    assert town.differences() == []


@pytest.mark.parametrize("table", ["payments", COPY])
def test_a_payment_whose_request_was_lost_keeps_its_number(town: PaymentSystem, table: str) -> None:
    town.payments_per_day_max = 1
    first = town.start("user", 300, key="key")
    _forget(town.system.dynamo, table)

    again = town.start("user", 300, key="key")
    with pytest.raises(IdempotencyKeyReused):
        town.start("user", 200, key="key")

    assert (again.number, again.prompt) == (first.number, first.prompt)
    assert len(town.gateway.orders) == 1


def test_a_payment_that_every_table_lost_is_credited_by_its_repeat(town: PaymentSystem) -> None:
    before = town.system.dynamo.rows()
    town.gateway.pay(town.start("user", 300, key="key").number)
    _restore(town.system.dynamo, before)

    again = town.start("user", 300, key="key")
    town.confirm(again)

    assert town.balance_fen() == 1300
    assert town.differences() == []


@pytest.mark.parametrize("table", ["packets", COPY])
def test_an_unpaid_packet_whose_request_was_lost_is_one(town: PaymentSystem, table: str) -> None:
    first = town.send_unpaid("user", key="key")
    _forget(town.system.dynamo, table)

    again = town.send_unpaid("user", key="key")

    assert (again.packet_id, again.payment_id) == (first.packet_id, first.payment_id)
    assert town.differences() == []


# Packets


@pytest.mark.parametrize("table", ["packets", COPY])
def test_a_packet_whose_request_was_lost_is_funded_once(system: InMemorySystem, table: str) -> None:
    system.deposit("ann", 600)
    first = system.send_order(an_order("ann", key="key", total_fen=600, count=3))
    _forget(system.dynamo, table)
    system.pass_time(60_000)

    again = system.send_order(an_order("ann", key="key", total_fen=600, count=3))

    assert again.packet_id == first.packet_id
    assert system.balance_fen("ann") == 0


@pytest.mark.parametrize("table", ["packets", COPY])
def test_a_lost_request_answers_before_lowered_limits(system: InMemorySystem, table: str) -> None:
    system.deposit("ann", 600)
    order = an_order("ann", key="key", total_fen=600, count=3)
    first = system.send_order(order)
    _forget(system.dynamo, table)

    again = system.send_order(replace(order, refused_fields=(("total_fen", "is too large"),)))

    assert again.packet_id == first.packet_id


def test_a_lost_request_still_refuses_another_packet(system: InMemorySystem) -> None:
    system.deposit("ann", 600)
    order = an_order("ann", key="key", total_fen=300, count=3)
    system.send_order(order)
    _forget(system.dynamo, "packets")

    with pytest.raises(IdempotencyKeyReused):
        system.send_order(replace(order, request=replace(order.request, body_hash="other")))

    assert system.balance_fen("ann") == 300


def test_a_packet_lost_only_by_a_restore_is_not_funded_again() -> None:
    system = InMemorySystem()
    system.deposit("ann", 600)
    before = system.dynamo.rows()
    system.send_order(an_order("ann", key="key", total_fen=300, count=3))
    _restore(system.dynamo, before, "packets")

    with pytest.raises(Unavailable):
        system.send_order(an_order("ann", key="key", total_fen=300, count=3))

    assert system.balance_fen("ann") == 300


def test_a_funding_lost_only_by_a_restore_is_not_repeated() -> None:
    system = InMemorySystem()
    system.deposit("ann", 600)
    before = system.dynamo.rows()
    first = system.send_order(an_order("ann", key="key", total_fen=300, count=3))
    _restore(system.dynamo, before, "accounts")

    again = system.send_order(an_order("ann", key="key", total_fen=300, count=3))

    assert again.packet_id == first.packet_id


# Prizes


@pytest.mark.parametrize("table", ["packets", COPY])
def test_stock_whose_request_was_lost_is_added_once(system: InMemorySystem, table: str) -> None:
    system.deposit("operator", 1000)
    system.lottery(a_prize("gala", total=5))
    prize = system.put_prize(
        a_prize("gala", "cash", kind=PrizeKind.PACKET, total=3, amount_fen=100)
    )
    first = system.change_stock(prize, 2, key="key")
    _forget(system.dynamo, table)

    again = system.change_stock(prize, 2, key="key")
    with pytest.raises(IdempotencyKeyReused):
        system.change_stock(prize, 1, key="key")

    assert again == first
    assert system.prizes.list_prizes("gala")[0].total == 5
    assert system.balance_fen("operator") == 500


@pytest.mark.parametrize("table", ["packets", COPY])
def test_a_cash_prize_that_a_restore_lost_is_funded_once(
    system: InMemorySystem, table: str
) -> None:
    system.deposit("operator", 1000)
    system.lottery(a_prize("gala", total=5))
    plan = a_prize("gala", "cash", kind=PrizeKind.PACKET, total=3, amount_fen=100)
    snapshot = system.dynamo.rows()["campaigns"]
    system.put_prize(plan)
    # The prize's row is lost, although the money of its packet has moved.
    system.dynamo.hold(system.dynamo.rows() | {"campaigns": snapshot})
    _forget(system.dynamo, table)

    with pytest.raises(Unavailable):
        system.put_prize(plan)

    assert system.balance_fen("operator") == 700


def test_the_packet_of_a_cash_prize_that_a_restore_lost_is_not_funded_again() -> None:
    system = InMemorySystem()
    system.deposit("operator", 1000)
    system.lottery(a_prize("gala", total=5))
    plan = a_prize("gala", "cash", kind=PrizeKind.PACKET, total=3, amount_fen=100)
    before = system.dynamo.rows()
    system.put_prize(plan)
    _restore(system.dynamo, before, "packets", "campaigns")

    with pytest.raises(Unavailable):
        system.put_prize(plan)

    assert system.balance_fen("operator") == 700
