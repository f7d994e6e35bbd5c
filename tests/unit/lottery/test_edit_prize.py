"""Edits of prizes while users draw; cash is funded once, together with its units."""

from dataclasses import replace
from typing import Any

import pytest

from redpacket.campaigns.errors import CampaignEnded, CampaignNotFound
from redpacket.campaigns.model import CampaignStatus
from redpacket.ledger.errors import InsufficientFunds
from redpacket.lottery.api.answers import PrizeAdmin
from redpacket.lottery.api.views import prize_admin_view
from redpacket.lottery.model.lottery import (
    PRIZES_MAX,
    UNITS_MAX,
    Draw,
    Prize,
    PrizeKind,
    RecordDrawStatus,
    draw_id_of,
)
from redpacket.lottery.model.odds import draw_point
from redpacket.lottery.use_cases import edit_prize
from redpacket.packets.errors import PacketNotFound
from redpacket.packets.model.claim import GrabStatus
from redpacket.packets.model.packet import Kind, Packet, PacketStatus, Rules
from redpacket.packets.use_cases.read_records import list_received
from redpacket.platform import errors
from testing.builders import a_campaign, a_prize, list_shares
from testing.in_memory_system import InMemorySystem
from testing.operations.office import Office

DAY = "20270129"


class Shop(Office):
    """Campaign with won prizes."""

    def win(self, prize: Prize, unit_no: int, user_id: str = "ann") -> RecordDrawStatus:
        draw_no = self.system.draws.find_player("fair", user_id, DAY).draw_count + 1
        seed = self.system.prizes.day_seed("fair", DAY)
        draw = Draw(
            campaign_id="fair",
            user_id=user_id,
            draw_id=draw_id_of("fair", user_id, DAY, draw_no),
            day=DAY,
            draw_no=draw_no,
            drawn_at_ms=self.system.clock.now_ms(),
            point=draw_point(seed, "fair", user_id, draw_no),
            odds=f"{prize.prize_id}:1|0",
            snapshot_version=1,
            prize=prize,
            unit_no=unit_no,
        )
        return self.system.draws.record_draw(draw, self.campaign.rules, draw.draw_id)

    def cached(self, packet: Packet) -> GrabStatus:
        return self.system.claim_cache.grab(packet.packet_id, "somebody").status

    def shown(self, prize: Prize) -> PrizeAdmin:
        """Return a prize as operators see it."""
        (stock,) = self.system.prizes.list_stock([prize], DAY)
        return prize_admin_view(prize, stock)

    def balance_fen(self) -> int:
        return self.system.balance_fen("operator")


@pytest.fixture
def office(system: InMemorySystem) -> Shop:
    campaign = a_campaign(campaign_id="fair")
    assert system.campaigns.create(campaign)
    system.deposit("operator", 10_000)
    return Shop(system, campaign)


# ---- create and edit


def test_the_first_put_creates_and_the_next_one_edits(office: Shop) -> None:
    created, is_new = office.put(office.plan())
    edited, is_new_again = office.put(office.plan(weight=3, title="other"))

    assert (is_new, is_new_again) == (True, False)
    assert (created.version, edited.version) == (1, 2)
    assert office.prizes() == {"cup": edited}
    assert (edited.weight, edited.title) == (3, "other")


def test_an_edit_of_another_version_than_it_names_is_refused(office: Shop) -> None:
    office.put(office.plan())
    office.put(office.plan(weight=2), 1)

    for version in (1, 3):
        with pytest.raises(errors.VersionConflict, match="version 2"):
            office.put(office.plan(weight=3), version)

    with pytest.raises(errors.VersionConflict, match="does not exist"):
        office.put(office.plan("pen"), 1)
    assert [prize.weight for prize in office.prizes().values()] == [2]


def test_a_prize_needs_an_existing_campaign_and_a_slug_as_its_id(office: Shop) -> None:
    with pytest.raises(CampaignNotFound):
        office.put(a_prize("never"))
    for prize_id in ("", "Cup", "cup#1", "a" * 64, "cup,1"):
        with pytest.raises(CampaignNotFound):
            office.put(office.plan(prize_id))
    with pytest.raises(CampaignNotFound, match="prize"):
        office.stock(office.plan(), 1)


def test_a_conflicting_put_is_applied_on_top_of_the_other_unless_it_names_a_version(
    office: Shop,
) -> None:
    office.put(office.plan())
    office.meet(lambda: office.put(office.plan(weight=2)))
    with pytest.raises(errors.VersionConflict):
        office.put(office.plan(weight=3), 1)
    assert office.prizes()["cup"].weight == 2
    office.meet(lambda: office.put(office.plan(weight=4)))

    edited, _ = office.put(office.plan(weight=3))

    assert (edited.weight, edited.version) == (3, 4)


def test_a_prize_of_a_continuously_edited_campaign_is_not_put(office: Shop) -> None:
    numbers = iter(range(99))
    other = Shop(office.system, office.campaign)
    office.meet(lambda: other.put(office.plan(f"prize-{next(numbers)}")), times=99)

    with pytest.raises(errors.Contended):
        office.put(office.plan())

    assert "cup" not in office.prizes()


def test_the_value_of_units_never_changes_and_stock_is_not_overwritten(office: Shop) -> None:
    prize, _ = office.put(office.plan())
    changed: list[tuple[str, dict[str, Any]]] = [
        ("kind", {"kind": PrizeKind.PACKET, "amount_fen": 100}),
        ("amount_fen", {"amount_fen": 1}),
        ("total", {"total": 4}),
        ("total", {"total": 6}),
    ]
    for field, changes in changed:
        with pytest.raises(errors.InvalidRequest) as refused:
            office.put(office.plan(**changes))
        assert field in {error["field"] for error in refused.value.errors}

    assert office.prizes() == {"cup": prize}


def test_the_number_of_prizes_of_a_campaign_is_bounded(office: Shop) -> None:
    for number in range(PRIZES_MAX):
        office.put(office.plan(f"prize-{number}"))

    with pytest.raises(errors.InvalidRequest):
        office.put(office.plan("one-more"))

    office.put(office.plan("prize-7", weight=1))


# ---- stock


def test_stock_changes_by_deltas_which_add_up(office: Shop) -> None:
    prize, _ = office.put(office.plan(total=5))

    more = office.stock(prize, 3)
    less = office.stock(prize, -6)
    # A retry after a lost response does not change the stock twice.
    with pytest.raises(errors.VersionConflict):
        office.stock(prize, -6, 2)

    assert ((more.total, more.version), (less.total, less.version)) == ((8, 2), (2, 3))
    assert office.prizes() == {"cup": less}
    office.meet(lambda: office.stock(prize, 2))
    assert office.stock(prize, 3).total == 7


def test_stock_is_not_lowered_below_the_won_units_nor_raised_above_the_maximum(
    office: Shop,
) -> None:
    prize, _ = office.put(office.plan(total=5))
    for delta in (-6, UNITS_MAX):
        with pytest.raises(errors.InvalidRequest):
            office.stock(prize, delta)
    office.win(prize, 1)
    office.win(prize, 3)

    with pytest.raises(errors.InvalidRequest, match="3 of 5"):
        office.stock(prize, -3)

    assert office.stock(prize, -2).total == 3


# ---- cash


def test_cash_is_funded_with_the_operators_money_and_not_the_campaigns_budget(office: Shop) -> None:
    prize, _ = office.put(office.cash(5))

    (packet,) = office.packets_of(prize)
    assert prize.packets == ((packet.packet_id, 5),)
    assert (packet.kind, packet.terms.total_fen, packet.terms.count) == (Kind.EQUAL, 500, 5)
    assert packet.rules == Rules(campaign_id="fair", prize_id="cash")
    assert packet.expires_at_ms == office.campaign.ends_at_ms
    assert office.balance_fen() == 9_500
    assert office.system.campaigns.find_campaign("fair") == office.campaign


def test_more_cash_is_another_packet_for_each_delta(office: Shop) -> None:
    prize, _ = office.put(office.cash(0))
    assert prize.packets == ()

    first = office.stock(prize, 5)
    more = office.stock(prize, 3)
    again = office.stock(prize, 3)

    assert again.packets[:2] == (more.packets[0], more.packets[1])
    assert first.packets == more.packets[:1]
    assert [packet.terms.total_fen for packet in office.packets_of(again)] == [500, 300, 300]
    assert len({packet_id for packet_id, _ in again.packets}) == 3
    assert office.balance_fen() == 8_900


def test_less_cash_keeps_its_packet_which_pays_for_units_added_later(office: Shop) -> None:
    prize, _ = office.put(office.cash(5))

    edited, _ = office.put(office.cash(5, weight=1, title="other"))
    less = office.stock(prize, -3)
    again = office.stock(less, 4)

    # An edit of the prize's texts and odds moves no money.
    assert edited.packets == prize.packets
    assert (less.packets, less.total) == (prize.packets, 2)
    assert [count for _, count in again.packets] == [5, 1]
    assert office.balance_fen() == 9_400


def test_cash_that_cannot_be_funded_is_refused(office: Shop) -> None:
    """The cash costs more than the balance, has no amount, or has too high a value."""
    with pytest.raises(InsufficientFunds):
        office.put(office.cash(101))
    for cash in (office.cash(5, amount_fen=None), office.cash(UNITS_MAX, amount_fen=10**9)):
        with pytest.raises(errors.InvalidRequest):
            office.put(cash)

    assert office.prizes() == {}
    assert office.balance_fen() == 10_000


def test_the_largest_sum_of_cash_is_funded(office: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(edit_prize, "FEN_MAX", 500)

    office.put(office.cash(5))
    with pytest.raises(errors.InvalidRequest):
        office.put(office.cash(6, "more"))

    assert office.balance_fen() == 9_500


def test_an_ended_campaign_funds_nothing(office: Shop) -> None:
    prize, _ = office.put(office.cash(5))
    office.system.clock.at_ms = office.campaign.ends_at_ms

    with pytest.raises(CampaignEnded):
        office.stock(prize, 1)

    assert office.balance_fen() == 9_500
    assert office.stock(prize, -1).total == 4


def test_an_interrupted_edit_moves_no_money(office: Shop) -> None:
    def lose() -> None:
        raise errors.Unavailable("cut off")

    office.meet(lose)
    with pytest.raises(errors.Unavailable):
        office.put(office.cash(5))

    assert (office.balance_fen(), office.prizes()) == (10_000, {})
    office.put(office.cash(3))
    assert office.balance_fen() == 9_700


def test_two_concurrent_deltas_of_cash_are_funded_each(office: Shop) -> None:
    prize, _ = office.put(office.cash(1))
    office.meet(lambda: office.stock(prize, 2))

    more = office.stock(prize, 3)

    assert more.total == sum(count for _, count in more.packets) == 6
    assert office.balance_fen() == 9_400
    office.system.clock.at_ms = office.campaign.ends_at_ms
    office.system.expire()
    assert office.balance_fen() == 10_000


def test_cash_above_a_lowered_limit_is_turned_off_and_cannot_be_added_to(office: Shop) -> None:
    prize, _ = office.put(office.cash(5, amount_fen=500))
    office.process.share_fen_max = 499

    off, _ = office.put(office.cash(5, amount_fen=500, status=CampaignStatus.OFF))

    assert off.status is CampaignStatus.OFF
    assert office.stock(prize, -1).total == 4
    assert office.stock(prize, 1).total == 5
    with pytest.raises(errors.InvalidRequest, match="limit of 499"):
        office.stock(prize, 1)
    with pytest.raises(errors.InvalidRequest, match="limit of 499"):
        office.put(replace(office.cash(5, amount_fen=500), prize_id="new"))
    with pytest.raises(errors.InvalidRequest, match="limit of 499"):
        office.put(replace(office.cash(0, amount_fen=500), prize_id="new"))
    assert office.balance_fen() == 7_500


def test_a_stock_key_with_another_body_or_prize_is_refused(office: Shop) -> None:
    prize, _ = office.put(office.cash(5))
    office.put(office.plan("pen"))
    first = office.stock(prize, 2, key="key")

    with pytest.raises(errors.IdempotencyKeyReused):
        office.stock(prize, 3, key="key")
    with pytest.raises(errors.IdempotencyKeyReused):
        office.stock(office.plan("pen"), 2, key="key")

    assert office.stock(prize, 2, key="key") == first
    assert office.balance_fen() == 9_300


# ---- packets of prizes


def test_a_prize_packet_cannot_be_grabbed(office: Shop) -> None:
    prize, _ = office.put(office.cash(5))
    (packet,) = office.packets_of(prize)

    with pytest.raises(PacketNotFound):
        office.system.grab(packet, "ann")
    with pytest.raises(PacketNotFound):
        office.system.open(packet, "ann", "token")
    assert office.cached(packet) is GrabStatus.PACKET_NOT_LOADED
    # This also holds if the cache has the packet.
    office.system.claim_cache.load(packet, [])
    with pytest.raises(PacketNotFound):
        office.system.grab(packet, "ann")

    assert list_shares(office.system.packets, packet.packet_id) == []


def test_won_units_are_paid_and_the_rest_is_refunded_at_the_end(office: Shop) -> None:
    prize, _ = office.put(office.cash(5))
    office.win(prize, 1, "ann")
    office.win(prize, 2, "ann")
    office.win(prize, 4, "bob")

    # The rows of wins are an outbox: the sweep queues their payouts again.
    office.system.pass_time(120_000)
    assert office.system.repair() == (3, 0)
    assert office.system.settle() == set()
    office.system.clock.at_ms = office.campaign.ends_at_ms
    office.system.expire()

    assert office.system.balance_fen("ann") == 200
    assert office.system.balance_fen("bob") == 100
    assert office.balance_fen() == 9_700
    assert [packet.status for packet in office.packets_of(prize)] == [PacketStatus.CLOSED]
    assert office.win(prize, 3, "cat") is RecordDrawStatus.UNIT_REFUNDED
    assert office.system.reconcile().differences == []
    assert office.system.differences(bound_ms=120_000) == []


def test_units_refunded_to_the_operator_are_not_shown_as_won(office: Shop) -> None:
    prize, _ = office.put(office.cash(5))
    office.win(prize, 1, "ann")
    office.win(prize, 3, "bob")
    assert office.shown(prize)["issued"] == 2

    office.system.clock.at_ms = office.campaign.ends_at_ms
    office.system.expire()

    assert office.balance_fen() == 10_000 - 200
    assert office.shown(prize)["issued"] == 2
    assert office.shown(prize)["is_sold_out"]


def test_a_win_concurrent_with_the_refund_is_paid_or_refused_and_never_both(office: Shop) -> None:
    prize, _ = office.put(office.cash(3))
    office.system.clock.at_ms = office.campaign.ends_at_ms
    told: list[RecordDrawStatus] = []

    def win_before_the_refund(operations: list[Any]) -> None:
        if not told and any("share#" in str(operation) for operation in operations):
            told.append(RecordDrawStatus.RECORDED)
            assert office.win(prize, 2) is RecordDrawStatus.RECORDED

    office.system.before_each_transaction(win_before_the_refund)
    office.system.expire()
    office.system.pass_time(120_000)
    office.system.repair()
    office.system.settle()
    office.system.expire()

    assert told
    assert office.system.balance_fen("ann") == 100
    assert office.balance_fen() == 9_900


def test_won_units_are_listed_share_by_share_and_page_by_page(office: Shop) -> None:
    prize, _ = office.put(office.cash(60))
    for unit_no in range(1, 61):
        office.win(prize, unit_no)
    system = office.system
    system.pass_time(60_001)
    system.repair()
    system.settle()

    pages = [list_received("ann", None, None, pages=system.pages, ledger=system.ledger)]
    while cursor := pages[-1].next:
        pages.append(list_received("ann", None, cursor, pages=system.pages, ledger=system.ledger))

    assert (pages[0].count, pages[0].total_fen, len(pages)) == (60, 6_000, 3)
    assert sum(len(page.items) for page in pages) == 60


def test_the_days_of_a_lottery_never_move(office: Shop) -> None:
    office.edit(replace(office.campaign, timezone="UTC"))
    office.put(office.plan())

    with pytest.raises(errors.InvalidRequest, match="it is UTC"):
        office.edit(replace(office.campaign, timezone="Asia/Shanghai"))

    office.edit(replace(office.campaign, timezone="UTC", title="again"))
