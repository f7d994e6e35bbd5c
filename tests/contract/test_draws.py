"""Suite for the lottery's ledger, on the fake and on the AWS emulator."""

import hashlib
import itertools
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import pytest

from redpacket.campaigns.model import Campaign, CampaignStatus, DrawRules
from redpacket.fairness.model import days
from redpacket.ledger.dynamodb.deposits import DynamoDeposits
from redpacket.ledger.model import user_account
from redpacket.lottery.dynamodb import unit_stock
from redpacket.lottery.dynamodb.draws import DynamoDraws
from redpacket.lottery.dynamodb.edited_campaigns import DynamoEditedCampaigns
from redpacket.lottery.dynamodb.prizes import DynamoPrizes
from redpacket.lottery.model import lottery
from redpacket.packets.dynamodb.funding import DynamoFunding
from redpacket.packets.dynamodb.ledger import DynamoLedger
from redpacket.packets.dynamodb.packets import DynamoPackets
from redpacket.packets.dynamodb.work_lists import DynamoWorkLists
from redpacket.packets.model.claim import Share, ShareStatus
from redpacket.packets.model.packet import Kind, Packet, Rules
from redpacket.packets.split import Split, Terms
from redpacket.platform.dynamodb.client import Dynamo
from redpacket.platform.errors import IdempotencyKeyReused, Unavailable
from redpacket.platform.idempotency import Request
from redpacket.platform.user import User
from testing.builders import NOW_MS, a_campaign, a_funding, a_packet, a_prize, list_shares
from testing.lottery.prizes import real_prizes
from testing.platform.fake_tables import TABLE_NAMES
from testing.reconciliation.ledger_state import read_ledger_state
from tests.contract.tables import (
    KINDS,
    REFUNDED_MS,
    a_client,
    a_deposit,
    a_request,
    a_settlement,
    some_refund,
)

_numbers = itertools.count(1)

DAY = "20270129"
NEXT_DAY = "20270130"
NO_LIMITS = DrawRules()


@dataclass
class Fair:
    """Adapters under test, and one campaign."""

    draws: DynamoDraws
    prizes: DynamoPrizes
    campaigns: DynamoEditedCampaigns
    ledger: DynamoLedger
    deposits: DynamoDeposits
    funding: DynamoFunding
    packets: DynamoPackets
    work: DynamoWorkLists
    campaign: Campaign

    def put(self, prize_id: str = "cup", **changes: Any) -> lottery.Prize:
        prize = a_prize(self.campaign.campaign_id, prize_id, **changes)
        return self.write(prize)

    def write(self, prize: lottery.Prize, request: Request | None = None) -> lottery.Prize:
        """Write a prize at the campaign's current version."""
        written = self.prizes.put_prize(prize, self.snapshot(), request=request)
        assert written
        return written

    def cash(self, *counts: int, amount_fen: int = 88, **changes: Any) -> lottery.Prize:
        """Put a cash prize, with a packet for each of *counts*."""
        packets = [self.funded("cash", count, amount_fen) for count in counts]
        held = tuple((packet.packet_id, packet.terms.count) for packet in packets)
        changes |= {"kind": lottery.PrizeKind.PACKET, "total": sum(counts), "packets": held}
        return self.put("cash", amount_fen=amount_fen, **changes)

    def funded(self, prize_id: str | None, count: int, amount_fen: int) -> Packet:
        operator = User(f"operator-{next(_numbers)}")
        total_fen = count * amount_fen
        self.deposits.deposit(a_deposit(operator.user_id, total_fen), a_request("operator"))
        seed = b"0123456789abcdef"
        terms = Terms(Split.EQUAL, total_fen, count, amount_fen, amount_fen, 1, seed)
        rules = Rules(campaign_id=self.campaign.campaign_id, prize_id=prize_id)
        made = {"packet_id": _packet_id(), "sender": operator, "kind": Kind.EQUAL}
        made["expires_at_ms"] = self.campaign.ends_at_ms
        packet = a_packet(total_fen, count, terms=terms, rules=rules, **made)
        self.funding.fund(packet, a_funding(packet), Request(operator.user_id, "key", "body"))
        return packet

    def missed(self, user_id: str = "ann", **changes: Any) -> lottery.Draw:
        draw = lottery.Draw(
            self.campaign.campaign_id, user_id, f"draw-{next(_numbers)}", DAY, 1, NOW_MS, 7, "|1", 1
        )
        return replace(draw, **changes)

    def won(
        self, prize: lottery.Prize, unit_no: int, user_id: str = "ann", **changes: Any
    ) -> lottery.Draw:
        odds = f"{prize.prize_id}:1|0"
        return self.missed(user_id, prize=prize, unit_no=unit_no, odds=odds, **changes)

    def record(
        self, draw: lottery.Draw, rules: DrawRules = NO_LIMITS, key_hash: str = ""
    ) -> lottery.RecordDrawStatus:
        draw_no = self.player(draw.user_id, draw.day).draw_count + 1
        numbered = replace(draw, draw_no=draw_no)
        return self.draws.record_draw(numbered, rules, key_hash or f"key of {draw.draw_id}")

    def packet(self, packet_id: str) -> Packet:
        packet = self.packets.find_packet(packet_id)
        assert packet
        return packet

    def stock(self, prize: lottery.Prize, day: str = DAY) -> lottery.PrizeStock:
        (stock,) = self.prizes.list_stock([prize], day)
        return stock

    def player(self, user_id: str = "ann", day: str = DAY) -> lottery.Player:
        return self.draws.find_player(self.campaign.campaign_id, user_id, day)

    def attempt(self, key_hash: str, user_id: str = "ann", day: str = DAY) -> lottery.PlayerState:
        return self.draws.find_attempt(
            self.campaign.campaign_id, user_id, key_hash, day, asks_audience=False
        )

    def find(self, draw: lottery.Draw) -> lottery.Draw | None:
        return self.draws.find_draw(draw.campaign_id, draw.user_id, draw.draw_id)

    def snapshot(self) -> lottery.CampaignSnapshot:
        snapshot = self.prizes.find_snapshot(self.campaign.campaign_id)
        assert snapshot
        return snapshot

    def help(
        self,
        helper_id: str,
        *,
        inviter_id: str = "ann",
        day: str = DAY,
        helps_max: int = 3,
        given_max: int = 3,
    ) -> lottery.HelpStatus:
        return self.draws.record_help(
            self.campaign.campaign_id,
            inviter_id,
            helper_id,
            day,
            DrawRules(helps_per_user_per_day=helps_max, helps_given_per_user_per_day=given_max),
            NOW_MS,
        )


def _packet_id() -> str:
    return f"lottery-{next(_numbers):014d}"


def _fair(client: Any) -> Fair:
    dynamo = Dynamo(lambda: client, TABLE_NAMES)
    fair = Fair(
        DynamoDraws(dynamo),
        DynamoPrizes(dynamo),
        DynamoEditedCampaigns(dynamo, new_seed=bytes),
        DynamoLedger(dynamo),
        DynamoDeposits(dynamo),
        DynamoFunding(dynamo),
        DynamoPackets(dynamo),
        DynamoWorkLists(dynamo),
        a_campaign(campaign_id=f"fair-{next(_numbers)}"),
    )
    assert fair.campaigns.create(fair.campaign)
    return fair


@pytest.fixture(params=KINDS)
def fair(request: pytest.FixtureRequest) -> Iterator[Fair]:
    """Yield the adapters, and check the whole ledger after the test."""
    with a_client(request.param, request) as client:
        yield _fair(client)
        tables = ("accounts", "packets", "shares", "campaigns", "draws", "quotas", "payments")
        assert not read_ledger_state(client, *tables).differences()


# ---- prizes and their snapshot


def test_a_stored_prize_is_read_unchanged(fair: Fair) -> None:
    prize = fair.put(
        kind=lottery.PrizeKind.PACKET,
        total=0,
        per_day=2,
        per_hour=1,
        amount_fen=88,
        image_url="https://example.com/cup.png",
        description="a cup, 杯子",
        attributes='{"color":"red"}',
        once_per_user=True,
        status=CampaignStatus.OFF,
        packets=tuple((fair.funded("cup", count, 88).packet_id, count) for count in (3, 4)),
    )

    assert fair.prizes.list_prizes(fair.campaign.campaign_id) == (prize,)
    assert fair.prizes.list_prizes("no-such-campaign") == ()


def test_prizes_are_listed_by_id(fair: Fair) -> None:
    for prize_id in ("b", "a", "c-1", "c"):
        fair.put(prize_id)

    assert [prize.prize_id for prize in fair.snapshot().prizes] == ["a", "b", "c", "c-1"]


def test_a_prize_is_replaced_if_it_is_unchanged_since_it_was_read(fair: Fair) -> None:
    before = fair.put()
    after = replace(before, weight=3, image_url=None, version=2)

    seen = fair.snapshot()
    assert fair.prizes.put_prize(after, seen)
    assert not fair.prizes.put_prize(replace(before, weight=4, version=2), seen)

    assert fair.prizes.list_prizes(fair.campaign.campaign_id) == (after,)


def test_a_prize_needs_a_campaign(fair: Fair) -> None:
    nowhere = a_prize(f"{fair.campaign.campaign_id}-never")

    assert not fair.prizes.put_prize(
        nowhere,
        replace(
            fair.snapshot(), campaign=replace(fair.campaign.plan, campaign_id=nowhere.campaign_id)
        ),
    )

    assert fair.prizes.find_snapshot(nowhere.campaign_id) is None
    assert fair.prizes.list_prizes(nowhere.campaign_id) == ()


def test_every_edit_of_a_campaign_or_a_prize_makes_a_new_snapshot(fair: Fair) -> None:
    first = fair.snapshot()
    assert (first.campaign, first.prizes) == (fair.campaign.plan, ())

    prize = fair.put()
    second = fair.snapshot()
    edited = replace(fair.campaign, miss_weight=9, rules=DrawRules(3, 2, 5, 7), version=2)
    assert fair.campaigns.edit(edited, fair.campaign)
    third = fair.snapshot()
    heavier = replace(prize, weight=99, version=2)
    fair.write(heavier)

    assert second.prizes == (prize,)
    assert (third.campaign, third.prizes) == (edited.plan, (prize,))
    assert fair.snapshot().prizes == (heavier,)
    versions = [snapshot.version for snapshot in (first, second, third, fair.snapshot())]
    assert versions == sorted(set(versions))


def test_a_refused_edit_leaves_the_snapshot_unchanged(fair: Fair) -> None:
    prize = fair.put()
    before = fair.snapshot()

    assert not fair.prizes.put_prize(prize, replace(before, version=before.version - 1))
    assert not fair.prizes.put_prize(prize, replace(before, version=before.version + 1))

    assert fair.snapshot() == before


def test_a_snapshot_of_a_hundred_prizes_is_read_unchanged(fair: Fair) -> None:
    prizes = [replace(prize, packets=()) for prize in real_prizes(fair.campaign.campaign_id, 100)]
    for prize in prizes:
        fair.write(prize)

    assert fair.snapshot().prizes == tuple(prizes)


def test_more_units_than_one_call_reads_are_counted_over_several(
    fair: Fair, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(unit_stock, "ROWS_PER_CALL", 5)
    monkeypatch.setattr(unit_stock, "ROWS_PER_RUN", 2)
    monkeypatch.setattr(unit_stock, "NOTED_MIN", 2)
    prize, cash = fair.put(total=20, per_day=20), fair.cash(4, 5)
    for number in (1, 2, 3, 4, 6, 7, 8, 9, 11, 12):
        fair.record(fair.won(prize, number, f"user-{number}", day_no=number))
    for number in (1, 2, 4, 5):
        fair.record(fair.won(cash, number, f"user-{number}"))

    def stock() -> list[lottery.PrizeStock]:
        for _ in range(12):
            with suppress(Unavailable):
                return fair.prizes.list_stock([prize, cash], DAY)
        pytest.fail("it gets nowhere")

    assert stock() == [
        lottery.PrizeStock("cup", 12, (5, 10), 12, (5, 10)),
        lottery.PrizeStock("cash", 5, (3,)),
    ]
    fair.record(fair.won(prize, 5, "ann", day_no=10))
    fair.record(fair.won(cash, 3, "ann"))
    assert stock() == [
        lottery.PrizeStock("cup", 12, (10,), 12, (5,)),
        lottery.PrizeStock("cash", 5),
    ]
    assert fair.stock(prize, NEXT_DAY) == lottery.PrizeStock("cup", 12, (10,))


# The fake runs one transaction at a time.
@pytest.mark.parametrize("fair", ["emulator"], indirect=True)
def test_concurrent_edits_all_succeed(fair: Fair) -> None:
    def put(number: int) -> None:
        prize, is_done = a_prize(fair.campaign.campaign_id, f"prize-{number}"), False
        while not is_done:
            with suppress(Unavailable):
                is_done = bool(fair.prizes.put_prize(prize, fair.snapshot()))

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(put, range(8)))

    snapshot = fair.snapshot()
    assert [prize.prize_id for prize in snapshot.prizes] == [
        f"prize-{number}" for number in range(8)
    ]
    assert snapshot.version == 9


# ---- pages


def test_a_campaign_page_is_the_snapshot_with_its_notes(fair: Fair) -> None:
    campaign_id, prize = fair.campaign.campaign_id, fair.put()

    def page() -> tuple[lottery.CampaignSnapshot, lottery.PageNote]:
        stored = fair.prizes.find_page(campaign_id)
        assert stored
        return stored

    assert page() == (fair.snapshot(), lottery.PageNote())
    for sold_out in ({"cup"}, {f"prize-{number:03d}" for number in range(100)}, set[str]()):
        note = lottery.PageNote(frozenset(sold_out))
        fair.prizes.note_page(campaign_id, note)
        assert page() == (fair.snapshot(), note)
    before = fair.snapshot()
    fair.write(replace(prize, weight=9, version=2))
    edited = replace(fair.campaign, title="new", version=2)
    assert fair.campaigns.edit(edited, fair.campaign)

    assert page() == (fair.snapshot(), note)
    assert fair.snapshot().version == before.version + 2


def test_an_unknown_campaign_has_no_page_and_accepts_no_note(fair: Fair) -> None:
    nowhere = f"{fair.campaign.campaign_id}-never"

    fair.prizes.note_page(nowhere, lottery.PageNote(frozenset(["cup"])))

    assert fair.prizes.find_page(nowhere) is None
    assert fair.prizes.find_snapshot(nowhere) is None


# ---- draws


def test_a_recorded_draw_is_read_unchanged(fair: Fair) -> None:
    missed, won = fair.missed(point=2**52 - 1), fair.won(fair.put(), 1, draw_no=2)

    assert fair.record(missed) is lottery.RecordDrawStatus.RECORDED
    assert fair.record(won) is lottery.RecordDrawStatus.RECORDED

    assert fair.find(missed) == missed
    assert fair.find(won) == won
    assert fair.find(fair.missed()) is None


def test_a_draw_keeps_the_prize_of_its_time(fair: Fair) -> None:
    prize = fair.put()
    won = fair.won(prize, 1)
    fair.record(won)

    fair.write(replace(prize, title="other", version=2))

    assert fair.find(won) == won


def test_a_draw_is_recorded_once_and_uses_up_nothing_more(fair: Fair) -> None:
    prize = fair.put(per_day=3, once_per_user=True)
    won = fair.won(prize, 1, day_no=1)
    fair.record(won, DrawRules(1, 1))

    # The cache lost the draw and decides again.
    assert fair.record(won, DrawRules(1, 1)) is lottery.RecordDrawStatus.DRAWN_BEFORE
    again = replace(won, unit_no=2, day_no=2)
    assert fair.record(again) is lottery.RecordDrawStatus.DRAWN_BEFORE
    missed = replace(won, prize=None, unit_no=0, day_no=0, day=NEXT_DAY)
    assert fair.record(missed) is lottery.RecordDrawStatus.DRAWN_BEFORE

    assert fair.find(won) == won
    assert fair.player() == lottery.Player(1, 1, 0)
    assert fair.player(day=NEXT_DAY) == lottery.Player()
    assert fair.stock(prize) == lottery.PrizeStock("cup", 1, (), 1, ())


def test_only_a_users_own_draws_are_listed_newest_first(fair: Fair) -> None:
    # This order differs from the order of the rows, which are sorted by id.
    draws = [fair.missed(draw_id=f"{name} draw", draw_no=no) for no, name in enumerate("cab", 1)]
    for draw in draws:
        fair.record(draw)
    fair.record(fair.missed("bob"))
    fair.help("bob")

    listed = fair.draws.list_draws(fair.campaign.campaign_id, "ann")

    assert listed == draws[::-1]
    assert fair.draws.list_draws(fair.campaign.campaign_id, "cat") == []


# ---- attempts and wins


def test_attempts_and_misses_in_a_row_are_counted_by_day(fair: Fair) -> None:
    prize = fair.put()
    draws = [fair.missed(), fair.missed(), fair.won(prize, 1), fair.missed()]
    for draw in [*draws, fair.missed(day=NEXT_DAY)]:
        assert fair.record(draw) is lottery.RecordDrawStatus.RECORDED

    assert fair.player() == lottery.Player(attempt_count=4, win_count=1, miss_streak=1)
    assert fair.player(day=NEXT_DAY) == lottery.Player(attempt_count=1, miss_streak=1)


def test_draws_of_a_user_are_limited_per_day(fair: Fair) -> None:
    prize, rules = fair.put(), DrawRules(attempts_per_user_per_day=2)
    fair.record(fair.missed(), rules)
    fair.record(fair.missed(), rules)
    late = fair.won(prize, 1)

    assert fair.record(late, rules) is lottery.RecordDrawStatus.ATTEMPTS_EXHAUSTED
    assert fair.record(fair.missed(), rules) is lottery.RecordDrawStatus.ATTEMPTS_EXHAUSTED

    assert fair.player() == lottery.Player(2, 0, 2)
    assert fair.find(late) is None
    assert fair.stock(prize) == lottery.PrizeStock("cup")
    assert fair.record(fair.missed(day=NEXT_DAY), rules) is lottery.RecordDrawStatus.RECORDED
    assert fair.record(fair.missed("bob"), rules) is lottery.RecordDrawStatus.RECORDED


def test_wins_of_a_user_are_limited_per_day(fair: Fair) -> None:
    prize, rules = fair.put(), DrawRules(3, 1)
    fair.record(fair.won(prize, 1), rules)
    second = fair.won(prize, 2)

    assert fair.record(second, rules) is lottery.RecordDrawStatus.WINS_EXHAUSTED

    assert fair.stock(prize) == lottery.PrizeStock("cup", 1)
    assert fair.record(fair.missed(), rules) is lottery.RecordDrawStatus.RECORDED
    assert fair.player() == lottery.Player(2, 1, 1)
    assert fair.record(replace(second, day=NEXT_DAY), rules) is lottery.RecordDrawStatus.RECORDED


def test_the_limit_of_attempts_is_reported_before_the_limit_of_wins(fair: Fair) -> None:
    prize, rules = fair.put(), DrawRules(1, 1)
    fair.record(fair.won(prize, 1), rules)

    assert fair.record(fair.won(prize, 1), rules) is lottery.RecordDrawStatus.ATTEMPTS_EXHAUSTED


def test_lowered_limits_apply_to_later_draws(fair: Fair) -> None:
    prize = fair.put()
    fair.record(fair.won(prize, 1), DrawRules(5, 5))
    fair.record(fair.won(prize, 2), DrawRules(5, 5))

    lowered = fair.record(fair.won(prize, 3), DrawRules(5, 1))
    assert lowered is lottery.RecordDrawStatus.WINS_EXHAUSTED
    assert (
        fair.record(fair.missed(), DrawRules(1, 1)) is lottery.RecordDrawStatus.ATTEMPTS_EXHAUSTED
    )


# ---- units


def test_a_unit_is_won_once(fair: Fair) -> None:
    prize = fair.put()
    fair.record(fair.won(prize, 1, "ann"))
    second = fair.won(prize, 1, "bob")

    assert fair.record(second) is lottery.RecordDrawStatus.UNIT_TAKEN

    assert fair.find(second) is None
    assert fair.player("bob") == lottery.Player()
    assert fair.record(replace(second, unit_no=2)) is lottery.RecordDrawStatus.RECORDED


def test_a_unit_of_daily_stock_is_won_once_a_day(fair: Fair) -> None:
    prize = fair.put(per_day=1)
    fair.record(fair.won(prize, 1, "ann", day_no=1))
    second = fair.won(prize, 2, "bob", day_no=1)

    assert fair.record(second) is lottery.RecordDrawStatus.UNIT_TAKEN
    assert fair.stock(prize) == lottery.PrizeStock("cup", 1, (), 1, ())

    tomorrow = replace(second, day=NEXT_DAY)
    assert fair.record(tomorrow) is lottery.RecordDrawStatus.RECORDED
    assert fair.stock(prize, NEXT_DAY) == lottery.PrizeStock("cup", 2, (), 1, ())


def test_a_once_per_user_prize_is_won_once_per_user(fair: Fair) -> None:
    prize = fair.put(once_per_user=True, per_day=5)
    fair.record(fair.won(prize, 1, day_no=1))
    second = fair.won(prize, 2, day_no=1, day=NEXT_DAY)

    assert fair.record(second) is lottery.RecordDrawStatus.WON_BEFORE
    # This condition is checked before the condition on the unit, because another unit would not
    # help.
    assert fair.record(replace(second, unit_no=1)) is lottery.RecordDrawStatus.WON_BEFORE

    assert fair.player(day=NEXT_DAY) == lottery.Player()
    assert fair.record(replace(second, user_id="bob")) is lottery.RecordDrawStatus.RECORDED
    other = fair.put("pen", once_per_user=True)
    assert fair.record(fair.won(other, 1)) is lottery.RecordDrawStatus.RECORDED


def test_the_stock_returns_the_highest_unit_and_the_free_ones_below_it(fair: Fair) -> None:
    prize, other = fair.put(total=9, per_day=9), fair.put("pen")
    for unit_no, day_no in ((2, 1), (3, 4), (7, 3)):
        fair.record(fair.won(prize, unit_no, day_no=day_no))

    assert fair.prizes.list_stock([prize, other], DAY) == [
        lottery.PrizeStock("cup", 7, (1, 4, 5, 6), 4, (2,)),
        lottery.PrizeStock("pen"),
    ]
    assert fair.stock(prize, NEXT_DAY) == lottery.PrizeStock("cup", 7, (1, 4, 5, 6))


# The fake runs one transaction at a time.
@pytest.mark.parametrize("fair", ["emulator"], indirect=True)
def test_ten_units_are_won_by_ten_of_many_concurrent_users(fair: Fair) -> None:
    prize = fair.put(total=10)
    draws = [fair.won(prize, 1 + number % 10, f"user-{number}") for number in range(40)]

    def record(draw: lottery.Draw) -> lottery.RecordDrawStatus:
        while True:
            with suppress(Unavailable):
                return fair.record(draw)

    with ThreadPoolExecutor(8) as pool:
        record_draw_statuses = list(pool.map(record, draws))

    assert record_draw_statuses.count(lottery.RecordDrawStatus.RECORDED) == 10
    assert record_draw_statuses.count(lottery.RecordDrawStatus.UNIT_TAKEN) == 30


# ---- cash


def test_a_unit_of_cash_is_a_claim_that_waits_for_its_settlement(fair: Fair) -> None:
    prize = fair.cash(2, 3, per_day=5)
    (first, _), (second, _) = prize.packets

    assert fair.record(fair.won(prize, 2, day_no=1)) is lottery.RecordDrawStatus.RECORDED
    assert fair.record(fair.won(prize, 4, day_no=2)) is lottery.RecordDrawStatus.RECORDED

    claim = Share(first, 2, ShareStatus.CLAIMED, 88, NOW_MS, User("ann"))
    assert list_shares(fair.packets, first) == [claim]
    assert list_shares(fair.packets, second) == [replace(claim, packet_id=second, share_no=2)]
    assert fair.stock(prize) == lottery.PrizeStock("cash", 4, (1, 3), 2, ())


def test_a_user_may_win_several_units_of_one_packet(fair: Fair) -> None:
    prize = fair.cash(3)
    ((packet_id, _),) = prize.packets

    for unit_no in (1, 2):
        assert fair.record(fair.won(prize, unit_no)) is lottery.RecordDrawStatus.RECORDED
    fair.record(fair.won(prize, 3, "bob"))

    claimers = fair.packets.list_winners(packet_id, ["ann", "bob", "cat", "ann"])
    assert sorted(
        (claimer.user_id, claimer.share_no, claimer.amount_fen) for claimer in claimers
    ) == [
        ("ann", 1, 88),
        ("ann", 2, 88),
        ("bob", 3, 88),
    ]


def test_a_unit_of_cash_is_won_once(fair: Fair) -> None:
    prize = fair.cash(2)
    fair.record(fair.won(prize, 1, "ann"))

    assert fair.record(fair.won(prize, 1, "bob")) is lottery.RecordDrawStatus.UNIT_TAKEN
    assert fair.record(fair.won(prize, 1, "ann")) is lottery.RecordDrawStatus.UNIT_TAKEN

    assert fair.player("bob") == lottery.Player()


def test_a_unit_that_was_returned_to_the_operator_cannot_be_won(fair: Fair) -> None:
    prize = fair.cash(2)
    ((packet_id, _),) = prize.packets
    packet = fair.packet(packet_id)
    fair.packets.begin_close(packet, packet.expires_at_ms)
    assert fair.ledger.refund([some_refund(packet, 1)], REFUNDED_MS)
    late = fair.won(prize, 1)

    assert fair.record(late) is lottery.RecordDrawStatus.UNIT_REFUNDED

    assert fair.find(late) is None
    assert fair.player() == lottery.Player()
    # The unit has a row, but no winner.
    stock = fair.stock(prize)
    assert stock == lottery.PrizeStock("cash", 1, refunded_count=1)
    assert stock.won_count == 0
    assert fair.record(replace(late, unit_no=2)) is lottery.RecordDrawStatus.RECORDED


def test_a_won_share_is_settled_like_any_claim(fair: Fair) -> None:
    winner = f"winner-{next(_numbers)}"
    prize = fair.cash(1)
    ((packet_id, _),) = prize.packets
    fair.record(fair.won(prize, 1, winner))
    (share,) = list_shares(fair.packets, packet_id)

    assert fair.ledger.settle([a_settlement(share, NOW_MS)], NOW_MS) == set()
    assert fair.ledger.settle([a_settlement(share, NOW_MS)], NOW_MS) == {share.ref}

    assert fair.ledger.balance_fen(user_account(winner)) == 88


def test_a_prize_packet_is_funded_without_the_budget_of_the_campaign(fair: Fair) -> None:
    ((packet_id, _),) = fair.cash(3).packets

    campaign = fair.campaigns.find_campaign(fair.campaign.campaign_id)
    assert campaign == fair.campaign
    assert fair.campaigns.list_packet_ids(fair.campaign.campaign_id, None, 9) == []
    packet = fair.packet(packet_id)
    assert packet.rules == Rules(campaign_id=fair.campaign.campaign_id, prize_id="cash")


def test_a_prize_packet_waits_only_for_its_end(fair: Fair) -> None:
    ((packet_id, _),) = fair.cash(3).packets
    packet = fair.packet(packet_id)
    end_ms = packet.expires_at_ms
    far_ms = end_ms + 86_400_000

    assert packet_id not in fair.work.list_unloaded(far_ms, 8_000)
    assert packet_id not in fair.work.list_due(end_ms - 1, 8_000)
    assert packet_id in fair.work.list_due(end_ms, 8_000)

    fair.packets.reschedule(packet_id, far_ms, 2)
    assert packet_id not in fair.work.list_due(end_ms, 8_000)
    assert packet_id in fair.work.list_due(far_ms, 8_000)
    assert fair.packets.find_packet(packet_id) == replace(packet, expires_at_ms=far_ms)


def test_only_an_open_packet_of_a_prize_is_rescheduled(fair: Fair) -> None:
    ((packet_id, _),) = fair.cash(3).packets
    packet = fair.packet(packet_id)
    closing = fair.packets.begin_close(packet, packet.expires_at_ms)
    plain = fair.funded(None, 1, 1)
    for other_id in (packet_id, plain.packet_id, "no-such-packet"):
        fair.packets.reschedule(other_id, NOW_MS + 1, 9)

    assert fair.packets.find_packet(packet_id) == closing
    assert fair.packets.find_packet(plain.packet_id) == plain
    assert fair.packets.find_packet("no-such-packet") is None


def test_the_end_of_the_newest_snapshot_is_kept(fair: Fair) -> None:
    ((packet_id, _),) = fair.cash(3).packets

    for snapshot_version, hour in ((5, 5), (4, 4), (5, 6), (7, 7), (6, 6)):
        fair.packets.reschedule(packet_id, NOW_MS + hour * 3_600_000, snapshot_version)

    packet = fair.packet(packet_id)
    assert packet.expires_at_ms == NOW_MS + 7 * 3_600_000


def test_an_end_can_only_be_moved_later(fair: Fair) -> None:
    ((packet_id, _),) = fair.cash(3).packets
    end_ms = fair.campaign.ends_at_ms
    moved_ms = []

    for shift_ms in (-1, 0, 5, 3):
        fair.packets.reschedule(packet_id, end_ms + shift_ms, 9, only_later=True)
        packet = fair.packets.find_packet(packet_id)
        moved_ms.append(packet.expires_at_ms - end_ms if packet else None)

    assert moved_ms == [0, 0, 5, 5]


# ---- money of prizes


def test_an_edit_keeps_the_packets_of_a_prize(fair: Fair) -> None:
    prize = fair.cash(2)
    ((packet_id, _),) = prize.packets
    packet = fair.packet(packet_id)
    closing = fair.packets.begin_close(packet, packet.expires_at_ms)

    fair.write(replace(prize, title="other", version=2))

    assert fair.packets.find_packet(packet_id) == closing


# ---- once per request


def _request(body_hash: str = "body", user_id: str = "operator") -> Request:
    return Request(f"{user_id}-of-requests", f"key-{next(_numbers)}", body_hash)


def test_a_request_puts_a_prize_once_and_stores_the_result(fair: Fair) -> None:
    prize, request = fair.put(total=5), _request()
    after = replace(prize, total=8, attributes='{"a":"杯"}', version=2)
    assert fair.prizes.find_put(request) is None

    assert fair.write(after, request) == after
    later = fair.write(replace(after, total=9, version=3))

    # Later changes of the prize do not affect the answer to a retry.
    assert fair.prizes.find_put(request) == after
    assert fair.write(replace(later, total=12, version=4), request) == after
    assert fair.snapshot().prizes == (later,)


def test_a_refused_put_is_not_stored(fair: Fair) -> None:
    prize, request = fair.put(), _request()

    stale = replace(fair.snapshot(), version=1)
    assert fair.prizes.put_prize(replace(prize, version=3), stale, request=request) is None

    assert fair.prizes.find_put(request) is None
    fair.write(replace(prize, total=9, version=2), request)


def test_a_put_with_the_key_of_another_body_is_refused(fair: Fair) -> None:
    prize, request = fair.put(), _request()
    after = replace(prize, total=8, version=2)
    fair.write(after, request)
    other = replace(request, body_hash="other")

    with pytest.raises(IdempotencyKeyReused):
        fair.prizes.find_put(other)
    with pytest.raises(IdempotencyKeyReused):
        fair.write(replace(after, total=9, version=3), other)

    assert fair.snapshot().prizes == (after,)
    mine = replace(other, user_id="another-operator")
    fair.write(replace(after, total=9, version=3), mine)


# ---- daily seeds


def test_the_seed_of_a_day_is_constant_and_different_from_other_days(fair: Fair) -> None:
    campaign_id = fair.campaign.campaign_id

    seeds = [fair.prizes.day_seed(campaign_id, day) for day in (DAY, DAY, NEXT_DAY)]

    assert seeds[0] == seeds[1] != seeds[2]
    assert {len(seed) for seed in seeds} == {32}


def test_the_seeds_of_all_days_are_fixed_with_the_campaign(fair: Fair) -> None:
    campaign_id, shown = fair.campaign.campaign_id, fair.snapshot().commitment
    first, next_day = (fair.prizes.day_seed(campaign_id, day) for day in (DAY, NEXT_DAY))

    edited = replace(fair.campaign, ends_at_ms=fair.campaign.ends_at_ms + 1, version=2)
    assert fair.campaigns.edit(edited, fair.campaign)
    fair.put()

    assert hashlib.sha256(next_day).digest() == first
    assert days.chain_commitment(campaign_id, first, DAY) == shown
    assert days.chain_commitment(campaign_id, next_day, NEXT_DAY) == shown
    assert fair.snapshot().commitment == shown


# ---- draws, keyed by request


def test_a_key_names_its_draw_permanently_and_no_other(fair: Fair) -> None:
    draw, other = fair.missed(), fair.missed()
    assert fair.attempt("key") == lottery.PlayerState(lottery.Player())

    assert fair.record(draw, key_hash="key") is lottery.RecordDrawStatus.RECORDED
    assert fair.record(other, key_hash="key") is lottery.RecordDrawStatus.DRAWN_BEFORE

    assert fair.attempt("key") == lottery.PlayerState(lottery.Player(1, 0, 1), draw)
    assert fair.attempt("key", day=NEXT_DAY) == lottery.PlayerState(lottery.Player(), draw)
    assert fair.attempt("other") == lottery.PlayerState(lottery.Player(1, 0, 1))
    assert fair.find(other) is None


def test_a_number_belongs_to_one_key(fair: Fair) -> None:
    draw = fair.missed()
    assert fair.record(draw, key_hash="one") is lottery.RecordDrawStatus.RECORDED

    again = replace(draw, drawn_at_ms=NOW_MS + 1)
    assert fair.record(again, key_hash="two") is lottery.RecordDrawStatus.NUMBER_TAKEN

    assert fair.find(draw) == draw
    assert fair.attempt("two").before is None
    assert fair.player() == lottery.Player(1, 0, 1)


def test_helps_do_not_lower_the_number_of_the_next_draw(fair: Fair) -> None:
    assert fair.attempt("key").draw_no == 1
    fair.record(fair.missed())
    fair.help("bob")
    fair.help("cat")

    assert fair.attempt("key").draw_no == 2
    assert fair.attempt("key", day=NEXT_DAY).draw_no == 1


# ---- helps


def test_a_help_gives_one_more_attempt_that_day(fair: Fair) -> None:
    rules = DrawRules(attempts_per_user_per_day=1)
    fair.record(fair.missed(), rules)

    assert fair.help("bob") is lottery.HelpStatus.HELPED

    assert fair.player() == lottery.Player(0, 0, 1, help_count=1)
    assert fair.record(fair.missed(), rules) is lottery.RecordDrawStatus.RECORDED
    assert fair.record(fair.missed(), rules) is lottery.RecordDrawStatus.ATTEMPTS_EXHAUSTED
    assert fair.player(day=NEXT_DAY) == lottery.Player()


def test_a_help_can_arrive_before_the_first_draw(fair: Fair) -> None:
    prize, rules = fair.put(), DrawRules(1, 1)

    assert fair.help("bob") is lottery.HelpStatus.HELPED
    assert fair.player() == lottery.Player(-1, 0, 0, help_count=1)

    assert fair.record(fair.won(prize, 1), rules) is lottery.RecordDrawStatus.RECORDED
    assert fair.record(fair.won(prize, 2), rules) is lottery.RecordDrawStatus.WINS_EXHAUSTED
    assert fair.record(fair.missed(), rules) is lottery.RecordDrawStatus.RECORDED
    assert fair.record(fair.missed(), rules) is lottery.RecordDrawStatus.ATTEMPTS_EXHAUSTED


def test_a_friend_helps_a_user_once(fair: Fair) -> None:
    fair.help("bob")

    assert fair.help("bob") is lottery.HelpStatus.HELPED_BEFORE
    assert fair.help("bob", day=NEXT_DAY) is lottery.HelpStatus.HELPED_BEFORE

    assert fair.player() == lottery.Player(-1, help_count=1)
    assert fair.player(day=NEXT_DAY) == lottery.Player()
    # The reverse direction, and another inviter, are different pairs.
    assert fair.help("ann", inviter_id="bob") is lottery.HelpStatus.HELPED
    assert fair.help("bob", inviter_id="cat") is lottery.HelpStatus.HELPED


def test_helps_per_user_and_day_are_limited(fair: Fair) -> None:
    assert fair.help("bob", helps_max=2) is lottery.HelpStatus.HELPED
    assert fair.help("cat", helps_max=2) is lottery.HelpStatus.HELPED

    assert fair.help("dan", helps_max=2) is lottery.HelpStatus.HELPS_EXHAUSTED
    assert fair.help("cat", helps_max=2) is lottery.HelpStatus.HELPED_BEFORE

    assert fair.player() == lottery.Player(-2, help_count=2)
    # A refused helper has not helped, and may help on another day.
    assert fair.help("dan", helps_max=2, day=NEXT_DAY) is lottery.HelpStatus.HELPED


def test_helps_that_one_user_gives_in_a_day_are_limited(fair: Fair) -> None:
    inviters = ("cat", "dan", "eve")
    given = [fair.help("bob", inviter_id=inviter, given_max=2) for inviter in inviters]

    assert given[:2] == [lottery.HelpStatus.HELPED] * 2
    assert given[2] is lottery.HelpStatus.GIVEN_EXHAUSTED
    assert fair.help("bob", inviter_id="cat", given_max=2) is lottery.HelpStatus.HELPED_BEFORE
    assert fair.player("eve") == lottery.Player()
    # Giving help changes neither the giver's own draws nor the help that they receive.
    assert fair.player("bob") == lottery.Player()
    assert fair.help("cat", inviter_id="bob") is lottery.HelpStatus.HELPED
    assert fair.help("bob", inviter_id="eve", given_max=2, day=NEXT_DAY) is (
        lottery.HelpStatus.HELPED
    )
