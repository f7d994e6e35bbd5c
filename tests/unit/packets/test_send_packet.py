from dataclasses import replace
from typing import Any

import pytest

from redpacket.ledger.errors import InsufficientFunds
from redpacket.packets.dynamodb.funding import DynamoFunding
from redpacket.packets.errors import SplitImpossible
from redpacket.packets.model.packet import SHARDS_MAX, PacketStatus, shard_count
from redpacket.packets.use_cases.send_packet import SendOrder
from redpacket.platform import errors
from redpacket.platform.dynamodb.client import Dynamo
from redpacket.platform.idempotency import Request
from testing.builders import a_campaign
from testing.fakes import Away, FakeDynamo
from testing.in_memory_system import LIFE_MS, InMemorySystem, an_order
from testing.platform.fake_tables import TABLE_NAMES
from testing.reconciliation.checks import packet_held_fen


def test_a_sent_packet_is_funded_and_loaded(system: InMemorySystem) -> None:
    packet = system.send(total_fen=1000)

    assert system.balance_fen("sender") == 0
    assert [packet_held_fen(facts) for facts in system.ledger_state().packets] == [1000]
    assert system.memory.grab(packet.packet_id, "ann").share_no == 1
    assert system.work.list_unloaded(system.clock.now_ms(), 800) == []


@pytest.mark.parametrize(
    ("count", "shard_share_count", "shards"),
    [(4, 4, 1), (5, 4, 2), (9, 3, 3), (130, 1, SHARDS_MAX)],
)
def test_a_large_packet_of_a_campaign_is_sharded(
    system: InMemorySystem, count: int, shard_share_count: int, shards: int
) -> None:
    system.shard_share_count = shard_share_count
    campaign = a_campaign()
    system.campaigns.create(campaign)

    packet = system.send(campaign=campaign, count=count)
    chat = system.send(count=count)

    assert shard_count(packet.packet_id) == shards
    assert len(system.memory.caches) == shards + 1
    assert shard_count(chat.packet_id) == 1
    assert system.packets.find_packet(packet.packet_id) == packet


def test_a_repeated_key_sends_once_and_returns_the_same_answer(system: InMemorySystem) -> None:
    system.deposit("sender", 5000)
    first = system.send_order(an_order())
    system.pass_time(10)

    again = system.send_order(an_order())
    other = system.send()

    assert again == first
    assert system.balance_fen("sender") == 4000
    assert other.packet_id != first.packet_id
    assert other.terms.seed != first.terms.seed


@pytest.mark.parametrize(
    "lowered",
    [
        {"refused_fields": (("count", "is above 3"),)},
        # With this lower default bound, 1000 fen would not fit in 4 shares.
        {"share_fen_max": 249},
    ],
    ids=["a limit", "the default bound"],
)
def test_a_repeat_after_the_limits_were_lowered_gets_its_first_answer(
    system: InMemorySystem, lowered: dict[str, Any]
) -> None:
    system.deposit("sender", 5000)
    first = system.send_order(an_order())

    again = system.send_order(an_order(**lowered))

    assert again == first
    assert system.balance_fen("sender") == 4000


@pytest.mark.parametrize("above", [(), (("count", "is above 3"),)], ids=["", "above the limits"])
def test_the_same_key_with_another_body_sends_nothing(
    system: InMemorySystem, above: tuple[Any, ...]
) -> None:
    system.deposit("sender", 5000)
    system.send_order(an_order())
    order = an_order(total_fen=2000, refused_fields=above)

    with pytest.raises(errors.IdempotencyKeyReused):
        system.send_order(replace(order, request=replace(order.request, body_hash="other")))

    assert system.balance_fen("sender") == 4000


def test_an_order_above_the_limits_is_refused_by_name_and_moves_nothing(
    system: InMemorySystem,
) -> None:
    system.deposit("sender", 5000)

    with pytest.raises(errors.InvalidRequest) as refused:
        system.send_order(an_order(refused_fields=(("count", "is above 3"),)))

    assert refused.value.errors == [{"field": "count", "message": "is above 3"}]
    assert system.ledger_state().packets == []


@pytest.mark.parametrize(
    ("order", "refusal"),
    [
        (an_order(total_fen=1000), InsufficientFunds),
        (an_order(total_fen=3, count=4), SplitImpossible),
    ],
    ids=["without money", "an impossible split"],
)
def test_a_refused_order_never_reaches_the_ledger(
    system: InMemorySystem, order: SendOrder, refusal: type[Exception]
) -> None:
    system.deposit("sender", 999)

    with pytest.raises(refusal):
        system.send_order(order)

    assert system.balance_fen("sender") == 999
    assert system.ledger_state().packets == []


@pytest.mark.parametrize("is_of_a_campaign", [True, False])
def test_two_sends_of_the_last_fen_leave_no_account_one_fen_below_zero(
    system: InMemorySystem, *, is_of_a_campaign: bool
) -> None:
    campaign = system.rain() if is_of_a_campaign else None
    first, second = (
        an_order(key=key, total_fen=1, count=1, campaign=campaign) for key in ("first", "second")
    )
    system.deposit("sender", 1)
    system.before_first_transaction(lambda _: system.send_order(first))

    with pytest.raises(InsufficientFunds):
        system.send_order(second)

    assert system.balance_fen("sender") == 0
    assert len(system.ledger_state().packets) == 1


def test_a_packet_is_sent_even_if_the_cache_is_unavailable(system: InMemorySystem) -> None:
    system.claim_cache = Away()

    packet = system.send(life_ms=2 * LIFE_MS)

    assert [name for name, _ in system.logger.errors] == ["packet_not_loaded"]
    system.claim_cache = system.memory
    system.pass_time(60_001)
    assert system.repair() == (0, 1)
    assert system.work.list_unloaded(system.clock.now_ms(), 800) == []
    assert system.memory.caches[packet.packet_id]["letter"] == "O"


class _StillHeld(FakeDynamo):
    """DynamoDB that holds the first row of a retried transaction slightly longer than other
    rows.
    """

    def __init__(self) -> None:
        super().__init__()
        self.is_held = False

    def transact_write_items(self, **request: Any) -> None:
        if self.is_held:
            self.is_held = False
            conflict = {"Code": "TransactionConflict"}
            others = [self._reason(operation) for operation in request["TransactItems"][1:]]
            assert {"ConditionalCheckFailed"} <= {reason["Code"] for reason in others}
            self._raise_canceled([conflict, *others], "TransactWriteItems")
        super().transact_write_items(**request)


def test_a_repeat_during_the_end_of_its_first_call_does_not_report_missing_money(
    system: InMemorySystem,
) -> None:
    client = _StillHeld()
    system.dynamo = client
    system.stand_on(client)
    system.deposit("sender", 1000)
    first = system.send_order(an_order())
    client.is_held = True

    # The balance is already lower, and the request's own row is held.
    assert system.send_order(an_order()) == first
    assert system.balance_fen("sender") == 0


# ---------------------------------------------------------------- open packets of one user

OPEN_MAX = 5


@pytest.fixture
def few(system: InMemorySystem) -> InMemorySystem:
    """Return a system in which each user may have only OPEN_MAX open packets."""
    system.funding = DynamoFunding(
        Dynamo(lambda: system.dynamo, TABLE_NAMES), open_packets_max=OPEN_MAX
    )
    return system


def test_one_user_has_few_open_packets(few: InMemorySystem) -> None:
    for _ in range(OPEN_MAX):
        few.send("eve", total_fen=1, count=1)

    with pytest.raises(errors.RateLimited) as refused:
        few.send("eve", total_fen=1, count=1)

    assert refused.value.retry_after_s == 60
    assert few.balance_fen("eve") == 1
    few.send("ann", total_fen=1, count=1)
    assert few.differences() == []


def test_a_place_is_free_again_once_a_packet_is_emptied_or_expires(few: InMemorySystem) -> None:
    sent = [few.send("eve", total_fen=1, count=1) for _ in range(OPEN_MAX)]

    for round_no in range(3):
        few.grab(sent[-1], f"ann-{round_no}")
        few.settle()
        sent.append(few.send("eve", total_fen=1, count=1))
    with pytest.raises(errors.RateLimited):
        few.send("eve", total_fen=1, count=1)
    assert few.differences() == []
    few.pass_time(2 * LIFE_MS)
    for _ in range(3):
        few.expire()

    assert few.ledger_state().open_counts["user:eve"] == 0
    for _ in range(OPEN_MAX):
        few.send("eve", count=3)
    assert few.differences() == []


def test_a_sender_who_is_the_luckiest_of_their_own_packet_gets_both_counts(
    few: InMemorySystem,
) -> None:
    packet = few.send("eve", count=1)
    few.grab(packet, "eve")
    few.settle()

    assert few.stored(packet).status is PacketStatus.CLOSED
    assert few.differences() == []


def test_a_repeat_gets_its_first_answer_although_no_place_is_left(few: InMemorySystem) -> None:
    few.deposit("eve", 100)
    order = an_order("eve", total_fen=10, count=1)
    first = few.send_order(order)
    for _ in range(OPEN_MAX - 1):
        few.send("eve", total_fen=1, count=1)

    assert few.send_order(order).packet_id == first.packet_id
    with pytest.raises(errors.RateLimited):
        few.send_order(replace(order, request=Request("eve", "another", "body")))


def test_packets_of_campaigns_are_not_counted(few: InMemorySystem) -> None:
    for _ in range(OPEN_MAX):
        few.send("boss", total_fen=1, count=1)

    few.send_in_shards(1, count=2, total_fen=2)

    assert few.differences() == []
    few.pass_time(2 * LIFE_MS)
    for _ in range(3):
        few.expire()
    assert few.differences() == []
