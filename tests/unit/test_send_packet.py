from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from redpacket.adapters.dynamo.client import Dynamo
from redpacket.adapters.dynamo.ledger import DynamoLedger
from redpacket.domain.claim import ShareFate
from redpacket.domain.errors import (
    IdempotencyKeyReused,
    InsufficientFunds,
    InvalidRequest,
    RateLimited,
    SplitImpossible,
    Unavailable,
)
from redpacket.domain.packet import PARTS_MAX, Packet, PacketStatus, part_count
from redpacket.ports.accounts import Request
from tests.builders import a_campaign
from tests.fakes import FakeBoard, FakeDynamo
from tests.town import LIFE_MS, Town, an_order


class BoardThatIsAway(FakeBoard):
    def load(self, packet: Packet, shares: Sequence[ShareFate], part: int | None = None) -> None:
        raise Unavailable("the cache does not answer")


def test_a_sent_packet_is_funded_and_loaded(town: Town) -> None:
    packet = town.send(total_fen=1000)

    assert town.balance_fen("sender") == 0
    assert [facts.held_fen for facts in town.world().packets] == [1000]
    assert town.memory.grab(packet.packet_id, "ann").share_no == 1
    assert town.packets.list_unloaded(town.clock.now_ms(), 800) == []


@pytest.mark.parametrize(
    ("count", "part_share_count", "parts"), [(4, 4, 1), (5, 4, 2), (9, 3, 3), (130, 1, PARTS_MAX)]
)
def test_a_large_packet_of_a_campaign_is_cut_into_parts(
    town: Town, count: int, part_share_count: int, parts: int
) -> None:
    town.part_share_count = part_share_count
    campaign = a_campaign()
    town.campaigns.create(campaign)

    packet = town.send(campaign=campaign, count=count)
    chat = town.send(count=count)

    assert part_count(packet.packet_id) == parts
    assert len(town.memory.boards) == parts + 1
    assert part_count(chat.packet_id) == 1
    assert town.packets.find_packet(packet.packet_id) == packet


def test_the_same_key_sends_once_and_answers_the_same(town: Town) -> None:
    town.deposit("sender", 5000)
    first = town.send_order(an_order())
    town.pass_time(10)

    again = town.send_order(an_order())

    assert again == first
    assert town.balance_fen("sender") == 4000


@pytest.mark.parametrize(
    "lowered",
    [
        {"refused_fields": (("count", "is above 3"),)},
        # The bound that an order takes where it names none: 1000 fen in 4 shares, 249 at most.
        {"share_fen_max": 249},
    ],
    ids=["a limit", "the default bound"],
)
def test_a_repeat_after_the_limits_were_lowered_gets_its_first_answer(
    town: Town, lowered: dict[str, Any]
) -> None:
    town.deposit("sender", 5000)
    first = town.send_order(an_order())

    again = town.send_order(an_order(**lowered))

    assert again == first
    assert town.balance_fen("sender") == 4000


def test_a_key_that_comes_with_another_body_is_refused_above_the_limits_too(town: Town) -> None:
    town.deposit("sender", 5000)
    town.send_order(an_order())
    above = an_order(refused_fields=(("count", "is above 3"),))

    with pytest.raises(IdempotencyKeyReused):
        town.send_order(replace(above, request=replace(above.request, body_hash="other")))


def test_an_order_above_the_limits_is_refused_by_name_and_moves_nothing(town: Town) -> None:
    town.deposit("sender", 5000)

    with pytest.raises(InvalidRequest) as refused:
        town.send_order(an_order(refused_fields=(("count", "is above 3"),)))

    assert refused.value.errors == [{"field": "count", "message": "is above 3"}]
    assert town.world().packets == []


def test_the_same_key_with_another_body_sends_nothing(town: Town) -> None:
    town.deposit("sender", 5000)
    town.send_order(an_order())
    order = an_order(total_fen=2000)

    with pytest.raises(IdempotencyKeyReused):
        town.send_order(replace(order, request=replace(order.request, body_hash="other")))

    assert town.balance_fen("sender") == 4000


def test_a_sender_without_money_sends_nothing(town: Town) -> None:
    town.deposit("sender", 999)

    with pytest.raises(InsufficientFunds):
        town.send_order(an_order(total_fen=1000))

    assert town.world().packets == []


def test_an_impossible_split_never_reaches_the_ledger(town: Town) -> None:
    town.deposit("sender", 999)

    with pytest.raises(SplitImpossible):
        town.send_order(an_order(total_fen=3, count=4))

    assert town.balance_fen("sender") == 999


def test_a_packet_is_sent_even_where_the_cache_is_away(town: Town) -> None:
    town.board = BoardThatIsAway(town.clock)

    packet = town.send(life_ms=2 * LIFE_MS)

    assert [name for name, _ in town.journal.errors] == ["packet_not_loaded"]
    town.board = town.memory
    town.pass_time(60_001)
    assert town.repair() == (0, 1)
    assert town.packets.list_unloaded(town.clock.now_ms(), 800) == []
    assert town.memory.boards[packet.packet_id]["letter"] == "O"


def test_a_packet_that_could_not_be_loaded_all_its_life_is_refunded(town: Town) -> None:
    town.board = BoardThatIsAway(town.clock)
    town.send(total_fen=1000)
    town.board = town.memory
    town.pass_time(90_000)

    town.repair()
    town.expire()

    assert town.balance_fen("sender") == 1000


def test_two_packets_have_two_ids_and_two_seeds(town: Town) -> None:
    first, second = town.send(), town.send()

    assert first.packet_id != second.packet_id
    assert first.terms.seed != second.terms.seed


class _StillHeld(FakeDynamo):
    """Holds the first row of a repeated transaction a moment longer than the others."""

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


def test_a_repeat_while_its_first_time_ends_is_not_told_that_the_money_is_short(
    town: Town,
) -> None:
    client = _StillHeld()
    town.dynamo = client
    town.packets, town.ledger = town.adapters(client)
    town.deposit("sender", 1000)
    first = town.send_order(an_order())
    client.is_held = True

    # The balance is lowered already, and the request's own row is held.
    assert town.send_order(an_order()) == first
    assert town.balance_fen("sender") == 0


# ---------------------------------------------------------------- open packets of one user

OPEN_MAX = 5


@pytest.fixture
def few(town: Town) -> Town:
    """A town where each user may have few packets open."""
    town.ledger = DynamoLedger(
        Dynamo(lambda: town.dynamo),
        "accounts",
        "packets",
        "shares",
        "campaigns",
        "profiles",
        open_packets_max=OPEN_MAX,
    )
    return town


def test_one_user_filled_the_cache_with_packets_of_a_fen(few: Town) -> None:
    for _ in range(OPEN_MAX):
        few.send("eve", total_fen=1, count=1)

    with pytest.raises(RateLimited) as refused:
        few.send("eve", total_fen=1, count=1)

    assert refused.value.retry_after_s == 60
    assert few.balance_fen("eve") == 1
    few.send("ann", total_fen=1, count=1)
    assert few.differences() == []


def test_a_place_is_free_again_once_a_packet_is_emptied(few: Town) -> None:
    sent = [few.send("eve", total_fen=1, count=1) for _ in range(OPEN_MAX)]

    for round_no in range(3):
        few.grab(sent[-1], f"ann-{round_no}")
        few.settle()
        sent.append(few.send("eve", total_fen=1, count=1))

    with pytest.raises(RateLimited):
        few.send("eve", total_fen=1, count=1)
    assert few.differences() == []


def test_all_places_are_free_again_once_packets_have_expired(few: Town) -> None:
    for _ in range(OPEN_MAX):
        few.send("eve", count=3)
    few.pass_time(2 * LIFE_MS)
    for _ in range(3):
        few.expire()

    assert few.world().open_counts["user:eve"] == 0
    for _ in range(OPEN_MAX):
        few.send("eve", count=3)
    assert few.differences() == []


def test_a_sender_who_is_the_luckiest_of_their_own_packet_gets_both_counts(few: Town) -> None:
    packet = few.send("eve", count=1)
    few.grab(packet, "eve")
    few.settle()

    assert few.packets.find_packet(packet.packet_id).status is PacketStatus.CLOSED  # type: ignore[union-attr]
    assert few.differences() == []


def test_a_repeat_gets_its_first_answer_although_no_place_is_left(few: Town) -> None:
    few.deposit("eve", 100)
    order = an_order("eve", total_fen=10, count=1)
    first = few.send_order(order)
    for _ in range(OPEN_MAX - 1):
        few.send("eve", total_fen=1, count=1)

    assert few.send_order(order).packet_id == first.packet_id
    with pytest.raises(RateLimited):
        few.send_order(replace(order, request=Request("eve", "another", "body")))


def test_packets_of_campaigns_are_not_counted(few: Town) -> None:
    for _ in range(OPEN_MAX):
        few.send("boss", total_fen=1, count=1)

    few.send_in_parts(1, count=2, total_fen=2)

    assert few.differences() == []
    few.pass_time(2 * LIFE_MS)
    for _ in range(3):
        few.expire()
    assert few.differences() == []
