"""Operators' edits that are interrupted at each of their I/O calls and then retried."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import cache, partial
from typing import Any

import pytest

from redpacket.campaigns.model import Campaign
from redpacket.lottery.model.lottery import Prize
from redpacket.packets.model.packet import PacketStatus
from redpacket.platform.errors import InvalidRequest, RedPacketError, Unavailable
from redpacket.reconciliation.use_cases.audits import ENDS_DIFFER
from testing.builders import NOW_MS, a_campaign
from testing.in_memory_system import InMemorySystem, an_order
from testing.operations.office import IO_MAX, Office, each_cut, each_meeting

HOUR_MS = 3_600_000
FUNDS_FEN = 10_000
NOTHING_PAID = {"op-a": 0, "op-b": 0, "operator": 0}
LATER, EARLIER = NOW_MS + 9 * HOUR_MS, NOW_MS + HOUR_MS
NEW_ENDS = pytest.mark.parametrize("new_ms", [LATER, EARLIER], ids=["later", "earlier"])

GALA = a_campaign(campaign_id="gala", ends_at_ms=NOW_MS + 5 * HOUR_MS)


@cache
def _a_town() -> InMemorySystem:
    system = InMemorySystem()
    assert system.campaigns.create(GALA)
    for operator in NOTHING_PAID:
        system.deposit(operator, FUNDS_FEN)
    office = Office(system, GALA)
    office.stock(office.put(office.cash(3))[0], 2)
    office.put(office.cash(2, "more"))
    return system


class Gala(Office):
    """A campaign whose cash is in three packets, and operators whose calls are interrupted."""

    def __init__(self, system: InMemorySystem | None = None) -> None:
        """Create use cases on *system*, as another Lambda would, or on a copy of `_a_town`."""
        super().__init__(system or _a_town().branched(), GALA)

    def end_at(
        self,
        ends_at_ms: int,
        version: int | None = None,
        budget_fen: int | None = None,
        **changes: Any,
    ) -> Campaign:
        plan = replace(GALA, ends_at_ms=ends_at_ms, **changes)
        return self.edit(plan, budget_fen, version)[0]

    def add(self, delta: int, key: str = "key", operator: str = "operator") -> Prize:
        return self.stock(self.plan("cash"), delta, key=key, operator=operator)

    def paid_fen(self) -> dict[str, int]:
        """Return the net amount that each operator has paid."""
        return {
            operator: FUNDS_FEN - self.system.balance_fen(operator) for operator in NOTHING_PAID
        }

    def sweep_at(self, at_ms: int) -> None:
        self.system.clock.at_ms = at_ms
        for _ in range(2):
            self.system.expire()

    def check_ends(self, *ends_ms: int) -> None:
        """Check that every cash packet ends with its campaign, at *ends_ms* if given."""
        assert self.ends_ms() == {self.stored().ends_at_ms}
        assert not ends_ms or self.ends_ms() == set(ends_ms)
        self.check_money()

    def check_money(self) -> None:
        """Check that every unit has an open share, that the books agree and that all cash is
        refunded.
        """
        for prize in self.prizes().values():
            assert prize.total <= sum(count for _, count in prize.packets)
            ids = [packet_id for packet_id, _ in prize.packets]
            assert len(set(ids)) == len(ids)
            packets = self.system.packets.list_packets(ids)
            assert {packet.status for packet in packets} == {PacketStatus.OPEN}
        assert self.system.differences() == []
        self.system.clock.at_ms = NOW_MS + 48 * HOUR_MS
        for _ in range(3):
            self.system.expire()
            self.system.pass_time(60_000)
        assert self.paid_fen() == NOTHING_PAID
        assert self.system.differences() == []


@NEW_ENDS
@pytest.mark.parametrize("version", [1, None])
def test_an_interrupted_edit_of_the_end_is_completed_by_its_repeat(
    new_ms: int, version: int | None
) -> None:
    def edit(office: Gala) -> Campaign:
        return office.end_at(new_ms, version)

    def check(office: Gala) -> None:
        # This also covers an operator who does not retry: no cash packet ends before its campaign.
        assert min(office.ends_ms()) >= office.stored().ends_at_ms

        edited = edit(office)

        assert edited.ends_at_ms == new_ms
        assert edited.version == 2 or version is None
        office.check_ends(new_ms)

    each_cut(Gala, edit, check)


def test_cash_lasts_until_the_new_end_of_its_campaign_after_an_interrupted_edit() -> None:
    office = Gala()
    # Interrupt the edit right after it wrote the campaign's row.
    for at in range(1, IO_MAX):
        office = Gala()
        office.cut(at, "killed", lambda office: office.end_at(LATER, 1))
        if office.stored().ends_at_ms == LATER:
            break

    office.system.pass_time(5 * HOUR_MS)
    assert office.system.expire().closed_count == 0
    office.system.load_campaign("gala")

    assert office.system.draw("gala", "ann", "key").draw.prize


@NEW_ENDS
def test_two_concurrent_edits_end_with_one_end(new_ms: int) -> None:
    """Run the second edit at each I/O of the first, which may be interrupted right after."""

    def edit(office: Gala) -> Campaign:
        return office.end_at(NOW_MS + 3 * HOUR_MS)

    def edit_else(office: Gala) -> Campaign:
        return office.end_at(new_ms)

    def check(office: Gala) -> None:
        edit_else(office)
        office.check_ends(new_ms)

    each_meeting(Gala, edit, edit_else, Gala.check_ends)
    each_cut(Gala, edit, check)


def test_a_repeat_of_one_of_two_interrupted_edits_leaves_one_end() -> None:
    """Run the second edit at each I/O of the first, and interrupt it at each of its own I/Os."""

    def edit(office: Gala) -> Campaign:
        return office.end_at(NOW_MS + 3 * HOUR_MS)

    def edit_later(office: Gala) -> Campaign:
        return office.end_at(LATER)

    for at in range(1, IO_MAX):
        for other_at in range(1, IO_MAX):
            office = Gala()
            other = Gala(office.system)
            die = partial(_cut, other, other_at, edit_later)
            if not office.cut(at, "between", edit, die):
                assert at > 3
                return
            if other.client.count < other_at:
                assert other_at > 3
                break
            assert min(office.ends_ms()) >= office.stored().ends_at_ms, (at, other_at)
            edit_later(other)
            assert office.ends_ms() == {office.stored().ends_at_ms} == {LATER}, (at, other_at)
    raise AssertionError("it never came to its end")


def _cut(other: Gala, at: int, act: Callable[[Gala], object], _: Gala) -> None:
    other.cut(at, "killed", act)


def test_a_refused_edit_moves_no_money() -> None:
    each_meeting(
        Gala,
        lambda office: office.end_at(LATER, 1),
        lambda office: office.end_at(GALA.ends_at_ms, 1, title="another"),
        Gala.check_ends,
    )


def test_cash_that_a_fast_clock_refunded_at_the_end_is_not_reported_missing() -> None:
    office = Gala()
    office.sweep_at(GALA.ends_at_ms)

    def told(before_the_end_ms: int) -> set[str]:
        office.system.clock.at_ms = GALA.ends_at_ms - before_the_end_ms
        return {difference.what for difference in office.system.reconcile().differences}

    assert told(4_000) == set()
    assert "units that have their money" in told(60_000)


def test_a_campaign_whose_cash_was_refunded_is_not_extended() -> None:
    office = Gala()
    office.sweep_at(GALA.ends_at_ms)

    with pytest.raises(InvalidRequest) as refused:
        office.end_at(LATER)

    assert [error["field"] for error in refused.value.errors] == ["ends_at_ms"]
    assert office.stored().ends_at_ms == GALA.ends_at_ms
    # Edits that don't move the end to a later time, such as a new title, are allowed.
    assert office.end_at(GALA.ends_at_ms, title="over").title == "over"


def test_an_ended_campaign_is_extended_while_its_cash_is_still_there() -> None:
    office = Gala()
    office.system.clock.at_ms = GALA.ends_at_ms

    office.end_at(LATER)

    office.sweep_at(GALA.ends_at_ms)
    office.check_ends(LATER)


def test_a_campaign_whose_cash_was_all_won_is_extended() -> None:
    system = InMemorySystem()
    assert system.campaigns.create(GALA)
    system.deposit("operator", FUNDS_FEN)
    office = Gala(system)
    office.put(office.cash(1))
    system.load_campaign("gala")
    assert system.draw("gala", "ann", "key").draw.prize
    system.settle()
    office.sweep_at(GALA.ends_at_ms)

    assert office.end_at(LATER).ends_at_ms == LATER


@pytest.mark.parametrize("budget_fen", [None, 0], ids=["", "with a lower budget"])
def test_the_old_end_of_a_campaign_that_is_being_extended_does_not_refund_its_cash(
    budget_fen: int | None,
) -> None:
    """Run the sweep that is due at the old end at each I/O of the edit."""

    def a_gala() -> Gala:
        office = Gala()
        office.end_at(GALA.ends_at_ms, budget_fen=500)
        return office

    def check(office: Gala) -> None:
        if office.stored().ends_at_ms > office.system.clock.now_ms():
            for prize in office.prizes().values():
                packets = office.packets_of(prize)
                funded = [
                    packet.terms.count for packet in packets if packet.status is PacketStatus.OPEN
                ]
                assert prize.total <= sum(funded)

    each_meeting(
        a_gala,
        lambda office: office.end_at(LATER, budget_fen=budget_fen),
        lambda office: office.sweep_at(GALA.ends_at_ms),
        check,
    )


def _end_during_an_extension(
    at: int, then: int = 0, other: Callable[[Gala], object] = lambda _: None
) -> Gala:
    """Run the sweep that is due at the old end during an extension, and *other* some I/Os later."""
    office = Gala()

    def end() -> None:
        office.sweep_at(GALA.ends_at_ms)
        office.client.cut_at += then
        office.client.between = lambda: other(Gala(office.system))

    office.client.cut_at, office.client.how, office.client.between = at, "between", end
    with suppress(RedPacketError):
        office.end_at(LATER, 1)
    office.client.cut_at = 0
    return office


def test_cash_of_a_refused_extension_ends_with_its_campaign() -> None:
    moved = 0
    for at in range(1, IO_MAX):
        office = _end_during_an_extension(at)
        if office.stored().ends_at_ms == LATER:
            assert moved
            break
        assert office.ends_ms() <= {office.stored().ends_at_ms}, at
        moved += bool(office.ends_ms())
        office.sweep_at(GALA.ends_at_ms + 60_000)
        assert office.paid_fen() == NOTHING_PAID, at


@pytest.mark.parametrize("other_ms", [EARLIER, GALA.ends_at_ms], ids=["earlier", "the same end"])
def test_another_edit_during_a_refused_extension_sets_the_end(other_ms: int) -> None:
    for at in range(1, IO_MAX):
        if _end_during_an_extension(at).stored().ends_at_ms == LATER:
            break
        for then in range(1, IO_MAX):
            office = _end_during_an_extension(
                at, then, lambda other: other.end_at(other_ms, title="another")
            )
            assert office.ends_ms() <= {office.stored().ends_at_ms}, (at, then)
            if office.client.count < at + then:
                break


def test_cash_of_an_extension_refused_for_its_budget_is_reported_and_any_edit_sets_its_end() -> (
    None
):
    late = 0
    for at in range(1, IO_MAX):
        office = Gala()
        office.end_at(GALA.ends_at_ms, budget_fen=500)

        def take(office: Gala) -> None:
            office.system.process().send_packet(an_order("rain", campaign=GALA, total_fen=100))

        def extend(office: Gala) -> Campaign:
            return office.end_at(LATER, budget_fen=0)

        if not office.cut(at, "between", extend, take):
            break
        if office.stored().ends_at_ms == LATER or office.ends_ms() == {GALA.ends_at_ms}:
            continue
        late += 1
        # No packet ends too early, which would cost a winner money. A nightly run reports the
        # difference.
        assert office.ends_ms() <= {GALA.ends_at_ms, LATER}
        assert ENDS_DIFFER in {
            difference.what for difference in office.system.reconcile().differences
        }
        office.end_at(GALA.ends_at_ms, title="any edit")
        assert office.ends_ms() == {GALA.ends_at_ms}, at
    assert late


# ---- prizes


def test_cash_that_two_operators_add_after_an_interruption_is_paid_once() -> None:
    def put(office: Gala, operator: str = "op-a") -> Prize:
        return office.put(office.cash(4, "new"), operator=operator)[0]

    def check(office: Gala) -> None:
        again = put(office, "op-b")

        assert (again.total, [count for _, count in again.packets]) == (4, [4])
        paid = office.paid_fen()
        assert sorted([paid["op-a"], paid["op-b"]]) == [0, 400]
        office.check_ends()

    each_cut(Gala, put, check)


def test_an_interrupted_edit_of_a_prize_is_completed_by_its_repeat() -> None:
    def put(office: Gala) -> Prize:
        return office.put(office.cash(2, "more", title="new", weight=3), 1, "op-a")[0]

    def check(office: Gala) -> None:
        again = put(office)

        assert (again.title, again.weight, again.version) == ("new", 3, 2)
        assert office.prizes()["more"] == again
        assert office.paid_fen() == {**NOTHING_PAID, "operator": 700}
        office.check_money()

    each_cut(Gala, put, check)


@pytest.mark.parametrize("delta", [4, -2])
def test_an_interrupted_change_of_stock_is_made_once_by_its_repeats(delta: int) -> None:
    def check(office: Gala) -> None:
        first, second = office.add(delta), office.add(delta)

        assert first == second == office.prizes()["cash"]
        assert first.total == 5 + delta
        assert office.paid_fen()["operator"] == 700 + 100 * max(0, delta)
        office.check_money()

    each_cut(Gala, lambda office: office.add(delta), check)


def test_an_interrupted_change_of_stock_is_made_once_despite_other_changes() -> None:
    def change(office: Gala) -> Prize:
        return office.add(4, "key", "op-a")

    def check(office: Gala) -> None:
        office.add(1, "another key", "op-b")
        change(office)

        assert office.prizes()["cash"].total == 10
        # Each operator has paid for the units that they added.
        assert office.paid_fen() == {"op-a": 400, "op-b": 100, "operator": 700}
        office.check_money()

    each_cut(Gala, change, check)


@NEW_ENDS
def test_stock_added_during_a_change_of_the_end_lasts_until_the_new_end(new_ms: int) -> None:
    def check(office: Gala) -> None:
        assert office.prizes()["cash"].total == 9
        office.check_ends(new_ms)

    each_meeting(Gala, lambda office: office.add(4), lambda office: office.end_at(new_ms), check)


def test_interrupted_units_are_added_once_whichever_end_has_passed() -> None:
    """Interrupt the call, move the end, let the old end pass, and retry the call."""

    def check(office: Gala) -> None:
        office.end_at(LATER)
        office.system.pass_time(5 * HOUR_MS)
        for _ in range(2):
            office.system.expire()
            office.system.pass_time(10_000)

        after = office.add(4)

        assert after.total == 9
        assert office.paid_fen()["operator"] == 900 + 200
        office.check_money()

    each_cut(Gala, lambda office: office.add(4), check)


def test_a_campaign_that_is_edited_continuously_rejects_the_edit() -> None:
    office = Gala()
    other = Gala(office.system)
    office.meet(lambda: other.end_at(GALA.ends_at_ms, title="other"), "SET budget", times=99)

    with pytest.raises(Unavailable):
        office.end_at(LATER)

    office.check_ends(GALA.ends_at_ms)
