"""Operators' edits that are cut off, at each I/O of theirs, and the calls that repeat them."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import cache, partial
from typing import Any, TypeAlias

import pytest
from botocore.exceptions import ReadTimeoutError

from redpacket.adapters.dynamo.campaigns import DynamoCampaigns
from redpacket.adapters.dynamo.client import Dynamo
from redpacket.domain.campaign import Campaign
from redpacket.domain.errors import InvalidRequest, RedPacketError, Unavailable
from redpacket.domain.lottery import Prize, PrizeKind
from redpacket.domain.packet import PacketStatus
from redpacket.flows.campaigns.edit_campaign import edit_campaign
from redpacket.flows.campaigns.edit_prize import PrizePorts, change_stock, put_prize
from redpacket.flows.reconciliation.reconcile import ENDS_DIFFER
from redpacket.ports.accounts import Request
from testing.builders import NOW_MS, a_campaign, a_prize
from testing.fakes import FakeDynamo
from testing.in_memory_system import InMemorySystem, an_operator, an_order

HOUR_MS = 3_600_000
FUNDS_FEN = 10_000
IO_MAX = 60

GALA = a_campaign(campaign_id="gala", ends_at_ms=NOW_MS + 5 * HOUR_MS)

Act: TypeAlias = Callable[["Office"], object]


class Killed(BaseException):
    """The Lambda dies here."""


class CutDynamo:
    """Fails one call, before or after its effect; or lets somebody in before it."""

    def __init__(self, dynamo: FakeDynamo) -> None:
        self._dynamo = dynamo
        self.count = 0
        self.cut_at = 0
        self.how = ""
        self.between: Callable[[], object] = lambda: None

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._dynamo, name)
        if not callable(found) or name == "exceptions":
            return found

        def call(**arguments: Any) -> Any:
            self.count += 1
            if self.count != self.cut_at:
                return found(**arguments)
            if self.how == "between":
                self.between()
            elif self.how == "lost":
                raise ReadTimeoutError(endpoint_url="dynamodb")
            answer = found(**arguments)
            if self.how == "in doubt":
                raise ReadTimeoutError(endpoint_url="dynamodb")
            if self.how == "killed":
                raise Killed
            return answer

        return call


def cash(prize_id: str, total: int, **changes: Any) -> Prize:
    return a_prize("gala", prize_id, kind=PrizeKind.PACKET, amount_fen=100, total=total, **changes)


@cache
def _a_town() -> InMemorySystem:
    system = InMemorySystem()
    assert system.campaigns.create(GALA)
    for operator in ("op-a", "op-b", "operator"):
        system.deposit(operator, FUNDS_FEN)
    system.change_stock(system.put_prize(cash("cash", 3)), 2)
    system.put_prize(cash("more", 2))
    return system


def an_office_town() -> InMemorySystem:
    """Return a system of operators with money, who have put cash of three packets."""
    return _a_town().branched()


class Office:
    """A campaign with cash, and operators whose calls are cut off."""

    def __init__(self, system: InMemorySystem | None = None) -> None:
        """Open an office, or one more Lambda of the *system*'s office."""
        self.system = system or an_office_town()
        self.client = CutDynamo(self.system.dynamo)
        client: Any = self.client
        own = InMemorySystem()
        own.stand_on(client)
        self.packets, self.funding, self.draws = own.packets, own.funding, own.draws
        self.campaigns = DynamoCampaigns(
            Dynamo(lambda: client), "campaigns", journal_table="journal"
        )

    def edit(
        self,
        ends_at_ms: int,
        version: int | None,
        budget_fen: int | None = None,
        **changes: Any,
    ) -> Campaign:
        return edit_campaign(
            replace(GALA, ends_at_ms=ends_at_ms, **changes),
            budget_fen,
            version,
            an_operator(),
            campaigns=self.campaigns,
            draws=self.draws,
            packets=self.packets,
            clock=self.system.clock,
            four_eyes=self.system.process().four_eyes,
        )[0]

    def ports(self) -> PrizePorts:
        return replace(
            self.system.prize_ports(), draws=self.draws, funding=self.funding, packets=self.packets
        )

    def put(self, plan: Prize, operator: str, version: int | None = None) -> Prize:
        return put_prize(plan, version, an_operator(operator), ports=self.ports())[0]

    def stock(self, delta: int, key: str, operator: str = "operator") -> Prize:
        request = Request(operator, key, str(delta))
        who = an_operator(operator)
        return change_stock("gala", "cash", delta, None, who, request, ports=self.ports())

    def cut(self, at: int, how: str, act: Act, between: Act | None = None) -> bool:
        """Do *act*, cut off at its I/O of this number; tell whether it got so far."""
        self.client.count, self.client.cut_at, self.client.how = 0, at, how
        self.client.between = (lambda: between(self)) if between else self.client.between
        with suppress(RedPacketError, Killed):
            act(self)
        self.client.cut_at = 0
        return self.client.count >= at

    def paid_fen(self) -> dict[str, int]:
        """Return what each operator has paid, of what is not back."""
        return {
            operator: FUNDS_FEN - self.system.balance_fen(operator)
            for operator in ("op-a", "op-b", "operator")
        }

    def prizes(self) -> dict[str, Prize]:
        return {prize.prize_id: prize for prize in self.draws.list_prizes("gala")}

    def ends_ms(self) -> set[int]:
        """Return when the money of prizes ends that is not closed."""
        ids = [packet_id for prize in self.prizes().values() for packet_id, _ in prize.packets]
        packets = self.packets.list_packets(ids)
        return {packet.expires_at_ms for packet in packets if packet.status is PacketStatus.OPEN}

    def campaign_ends_ms(self) -> int:
        campaign = self.campaigns.find_campaign("gala")
        assert campaign
        return campaign.ends_at_ms

    def check_money(self) -> None:
        """Every unit has an open share, the books agree, and in the end all of it comes back."""
        for prize in self.prizes().values():
            assert prize.total <= sum(count for _, count in prize.packets)
            ids = [packet_id for packet_id, _ in prize.packets]
            assert len(set(ids)) == len(ids)
            packets = self.packets.list_packets(ids)
            assert {packet.status for packet in packets} == {PacketStatus.OPEN}
        assert self.system.differences() == []
        self.system.clock.at_ms = NOW_MS + 48 * HOUR_MS
        for _ in range(3):
            self.system.expire()
            self.system.pass_time(60_000)
        assert self.paid_fen() == {"op-a": 0, "op-b": 0, "operator": 0}
        assert self.system.differences() == []


def each_cut(act: Act, check: Callable[[Office], None]) -> None:
    """Cut *act* off at each of its I/Os, in each way, in an office of its own; *check* what is."""
    for how in ("lost", "in doubt", "killed"):
        for at in range(1, IO_MAX):
            office = Office()
            if not office.cut(at, how, act):
                assert at > 3
                break
            try:
                check(office)
            except AssertionError as error:
                error.add_note(f"{how} at I/O {at}")
                raise
        else:
            raise AssertionError("it never came to its end")


LATER, EARLIER = NOW_MS + 9 * HOUR_MS, NOW_MS + HOUR_MS


@pytest.mark.parametrize("ends_at_ms", [LATER, EARLIER], ids=["later", "earlier"])
@pytest.mark.parametrize("version", [1, None])
def test_an_interrupted_edit_of_the_end_is_completed_by_its_repeat(
    ends_at_ms: int, version: int | None
) -> None:
    def edit(office: Office) -> Campaign:
        return office.edit(ends_at_ms, version)

    def check(office: Office) -> None:
        # Also of an operator who does not repeat it: no cash ends before its campaign.
        assert min(office.ends_ms()) >= office.campaign_ends_ms()

        edited = edit(office)

        assert edited.ends_at_ms == ends_at_ms
        assert edited.version == 2 or version is None
        assert office.ends_ms() == {ends_at_ms}
        office.check_money()

    each_cut(edit, check)


def test_cash_is_there_until_the_campaigns_new_end_though_the_edit_was_cut_off() -> None:
    office = Office()
    # The campaign's row is written, and nothing after it.
    for at in range(1, IO_MAX):
        office = Office()
        office.cut(at, "killed", lambda office: office.edit(LATER, 1))
        if office.campaign_ends_ms() == LATER:
            break

    office.system.pass_time(5 * HOUR_MS)
    assert office.system.expire().closed_count == 0
    office.system.load_campaign("gala")

    assert office.system.draw("gala", "ann", "key").draw.prize


@pytest.mark.parametrize("how", ["lost", "in doubt", "killed"])
@pytest.mark.parametrize("other_ms", [LATER, EARLIER], ids=["later", "earlier"])
def test_two_edits_at_once_end_with_one_end(other_ms: int, how: str) -> None:
    """The other one comes at each I/O of the first, whole; the first may be cut off right after."""

    def edit(office: Office) -> Campaign:
        return office.edit(NOW_MS + 3 * HOUR_MS, None)

    for at in range(1, IO_MAX):
        office = Office()
        if not office.cut(at, "between", edit, lambda office: office.edit(other_ms, None)):
            break
        assert office.ends_ms() == {office.campaign_ends_ms()}, at
        office.check_money()
    for at in range(1, IO_MAX):
        office = Office()
        if not office.cut(at, how, edit):
            break
        office.edit(other_ms, None)
        assert office.ends_ms() == {office.campaign_ends_ms()} == {other_ms}, at
        office.check_money()


def _cut(other: Office, at: int, act: Act, _: Office) -> None:
    other.cut(at, "killed", act)


def test_two_edits_at_once_of_which_one_is_cut_off_end_with_one_end_once_it_is_repeated() -> None:
    """At each I/O of the first the other comes, and is cut off at each of its own."""

    def edit(office: Office) -> Campaign:
        return office.edit(NOW_MS + 3 * HOUR_MS, None)

    def edit_later(office: Office) -> Campaign:
        return office.edit(LATER, None)

    for at in range(1, IO_MAX):
        for other_at in range(1, IO_MAX):
            office = Office()
            other = Office(office.system)
            die = partial(_cut, other, other_at, edit_later)
            if not office.cut(at, "between", edit, die):
                assert at > 3
                return
            if other.client.count < other_at:
                assert other_at > 3
                break
            assert min(office.ends_ms()) >= office.campaign_ends_ms(), (at, other_at)
            edit_later(other)
            assert office.ends_ms() == {office.campaign_ends_ms()} == {LATER}, (at, other_at)
    raise AssertionError("it never came to its end")


def test_an_edit_that_is_refused_leaves_the_money_as_it_was() -> None:
    def edit(office: Office) -> Campaign:
        return office.edit(LATER, 1)

    def retitle(office: Office) -> Campaign:
        return office.edit(GALA.ends_at_ms, 1, title="another")

    for at in range(1, IO_MAX):
        office = Office()
        if not office.cut(at, "between", edit, retitle):
            break
        assert office.ends_ms() == {office.campaign_ends_ms()}, at
        office.check_money()


def _sweep_at(office: Office, at_ms: int) -> None:
    office.system.clock.at_ms = at_ms
    for _ in range(2):
        office.system.expire()


def _unfunded(office: Office) -> list[str]:
    """Return the prizes with more units than open shares, while their campaign goes on."""
    if office.campaign_ends_ms() <= office.system.clock.now_ms():
        return []
    return [
        prize.prize_id
        for prize in office.prizes().values()
        if prize.total
        > sum(
            packet.terms.count
            for packet in office.packets.list_packets([one for one, _ in prize.packets])
            if packet.status is PacketStatus.OPEN
        )
    ]


def test_cash_that_a_clock_ahead_gave_back_at_the_end_is_not_missed() -> None:
    office = Office()
    _sweep_at(office, GALA.ends_at_ms)

    def told(before_the_end_ms: int) -> set[str]:
        office.system.clock.at_ms = GALA.ends_at_ms - before_the_end_ms
        return {one.what for one in office.system.reconcile().differences}

    assert told(4_000) == set()
    assert "units that have their money" in told(60_000)


def test_no_campaign_is_extended_whose_cash_has_gone_back() -> None:
    office = Office()
    _sweep_at(office, GALA.ends_at_ms)

    with pytest.raises(InvalidRequest) as refused:
        office.edit(LATER, None)

    assert [error["field"] for error in refused.value.errors] == ["ends_at_ms"]
    assert office.campaign_ends_ms() == GALA.ends_at_ms
    # All else may be edited: an end that is not later, a title.
    assert office.edit(GALA.ends_at_ms, None, title="over").title == "over"


def test_a_campaign_that_ended_is_extended_while_its_cash_is_there() -> None:
    office = Office()
    office.system.clock.at_ms = GALA.ends_at_ms

    office.edit(LATER, None)

    _sweep_at(office, GALA.ends_at_ms)
    assert office.ends_ms() == {office.campaign_ends_ms()} == {LATER}
    office.check_money()


def test_a_campaign_whose_cash_was_all_won_is_extended() -> None:
    system = InMemorySystem()
    assert system.campaigns.create(GALA)
    system.deposit("operator", FUNDS_FEN)
    system.put_prize(cash("cash", 1))
    system.load_campaign("gala")
    assert system.draw("gala", "ann", "key").draw.prize
    system.settle()
    office = Office(system)
    _sweep_at(office, GALA.ends_at_ms)

    assert office.edit(LATER, None).ends_at_ms == LATER


@pytest.mark.parametrize("budget_fen", [None, 0], ids=["", "with a lower budget"])
def test_no_end_that_comes_while_a_campaign_is_extended_takes_its_cash(
    budget_fen: int | None,
) -> None:
    """The sweep of the old end comes at each I/O of the edit."""
    for at in range(1, IO_MAX):
        office = Office()
        office.edit(GALA.ends_at_ms, None, 500)
        if not office.cut(
            at,
            "between",
            lambda office: office.edit(LATER, None, budget_fen),
            lambda office: _sweep_at(office, GALA.ends_at_ms),
        ):
            assert at > 3
            break
        assert _unfunded(office) == [], at


def _end_during_an_extension(at: int, then: int = 0, other: Act = lambda _: None) -> Office:
    """The sweep of the old end comes at an I/O of an extension, *other* so many I/Os after it."""
    office = Office()

    def end() -> None:
        _sweep_at(office, GALA.ends_at_ms)
        office.client.cut_at += then
        office.client.between = lambda: other(Office(office.system))

    office.client.cut_at, office.client.how, office.client.between = at, "between", end
    with suppress(RedPacketError):
        office.edit(LATER, 1)
    office.client.cut_at = 0
    return office


def test_cash_of_an_extension_that_is_refused_ends_with_its_campaign() -> None:
    moved = 0
    for at in range(1, IO_MAX):
        office = _end_during_an_extension(at)
        if office.campaign_ends_ms() == LATER:
            assert moved
            break
        assert office.ends_ms() <= {office.campaign_ends_ms()}, at
        moved += bool(office.ends_ms())
        _sweep_at(office, GALA.ends_at_ms + 60_000)
        assert office.paid_fen() == {"op-a": 0, "op-b": 0, "operator": 0}, at


@pytest.mark.parametrize("other_ms", [EARLIER, GALA.ends_at_ms], ids=["earlier", "the same end"])
def test_another_edit_while_an_extension_is_refused_sets_the_end(other_ms: int) -> None:
    def edit(other: Office) -> Campaign:
        return other.edit(other_ms, None, title="another")

    for at in range(1, IO_MAX):
        if _end_during_an_extension(at).campaign_ends_ms() == LATER:
            break
        for then in range(1, IO_MAX):
            office = _end_during_an_extension(at, then, edit)
            assert office.ends_ms() <= {office.campaign_ends_ms()}, (at, then)
            if office.client.count < at + then:
                break


def test_cash_of_an_extension_that_is_refused_for_its_budget_is_told_and_set_by_any_edit() -> None:
    late = 0
    for at in range(1, IO_MAX):
        office = Office()
        office.edit(GALA.ends_at_ms, None, 500)

        def take(office: Office) -> None:
            office.system.process().send_packet(an_order("rain", campaign=GALA, total_fen=100))

        if not office.cut(at, "between", lambda office: office.edit(LATER, None, 0), take):
            break
        if office.campaign_ends_ms() == LATER or office.ends_ms() == {GALA.ends_at_ms}:
            continue
        late += 1
        # Never too early, which would cost a winner; and it does not stay unseen.
        assert office.ends_ms() <= {GALA.ends_at_ms, LATER}
        assert ENDS_DIFFER in {one.what for one in office.system.reconcile().differences}
        office.edit(GALA.ends_at_ms, None, title="any edit")
        assert office.ends_ms() == {GALA.ends_at_ms}, at
    assert late


# ---- prizes


def test_cash_that_is_put_by_two_operators_after_a_cut_is_paid_once() -> None:
    def put(office: Office) -> Prize:
        return office.put(cash("new", 4), "op-a")

    def check(office: Office) -> None:
        again = office.put(cash("new", 4), "op-b")

        assert (again.total, [count for _, count in again.packets]) == (4, [4])
        paid = office.paid_fen()
        assert sorted([paid["op-a"], paid["op-b"]]) == [0, 400]
        assert office.ends_ms() == {office.campaign_ends_ms()}
        office.check_money()

    each_cut(put, check)


def test_an_interrupted_edit_of_a_prize_is_completed_by_its_repeat() -> None:
    plan = cash("more", 2, title="new", weight=3)

    def put(office: Office) -> Prize:
        return office.put(plan, "op-a", 1)

    def check(office: Office) -> None:
        again = put(office)

        assert (again.title, again.weight, again.version) == ("new", 3, 2)
        assert office.prizes()["more"] == again
        assert office.paid_fen() == {"op-a": 0, "op-b": 0, "operator": 700}
        office.check_money()

    each_cut(put, check)


@pytest.mark.parametrize("delta", [4, -2])
def test_a_change_of_stock_that_is_cut_off_is_made_once_by_its_repeats(delta: int) -> None:
    def change(office: Office) -> Prize:
        return office.stock(delta, "key")

    def check(office: Office) -> None:
        first, second = change(office), change(office)

        assert first == second == office.prizes()["cash"]
        assert first.total == 5 + delta
        assert office.paid_fen()["operator"] == 700 + 100 * max(0, delta)
        office.check_money()

    each_cut(change, check)


def test_a_change_of_stock_that_is_cut_off_is_made_once_though_others_change_it_meanwhile() -> None:
    def change(office: Office) -> Prize:
        return office.stock(4, "key", "op-a")

    def check(office: Office) -> None:
        office.stock(1, "another key", "op-b")
        change(office)

        assert office.prizes()["cash"].total == 10
        # Each operator has paid for what they added.
        assert office.paid_fen() == {"op-a": 400, "op-b": 100, "operator": 700}
        office.check_money()

    each_cut(change, check)


@pytest.mark.parametrize("moved_ms", [LATER, EARLIER], ids=["later", "earlier"])
def test_stock_that_meets_a_new_end_lasts_until_that(moved_ms: int) -> None:
    def change(office: Office) -> Prize:
        return office.stock(4, "key")

    for at in range(1, IO_MAX):
        office = Office()
        if not office.cut(at, "between", change, lambda office: office.edit(moved_ms, None)):
            break
        assert office.prizes()["cash"].total == 9, at
        assert office.ends_ms() == {moved_ms}, at
        office.check_money()


def test_units_are_not_put_with_money_that_went_back_at_an_earlier_end() -> None:
    """A funding is cut off, the end is moved, the old end passes, and the call is repeated."""

    def change(office: Office) -> Prize:
        return office.stock(4, "key")

    def check(office: Office) -> None:
        office.edit(LATER, None)
        office.system.pass_time(5 * HOUR_MS)
        for _ in range(2):
            office.system.expire()
            office.system.pass_time(10_000)

        after = change(office)

        assert after.total == 9
        assert office.paid_fen()["operator"] == 900 + 200
        office.check_money()

    each_cut(change, check)


def test_units_are_not_put_with_money_that_goes_back_while_they_are_put() -> None:
    """The sweep of the old end comes between the look at what was left and the put."""

    def change(office: Office) -> Prize:
        return office.stock(4, "key")

    def sweep(office: Office) -> None:
        office.system.clock.at_ms = NOW_MS + 5 * HOUR_MS
        for _ in range(2):
            office.system.expire()

    for at in range(1, IO_MAX):
        office = Office()
        # Funded, and cut off before the prize's write.
        for cut_at in range(1, IO_MAX):
            office = Office()
            office.cut(cut_at, "killed", change)
            if office.paid_fen()["operator"] == 1_100:
                break
        assert office.prizes()["cash"].total == 5
        office.edit(LATER, None)
        if not office.cut(at, "between", change, sweep):
            break
        if office.prizes()["cash"].total == 5:
            change(office)
        assert office.prizes()["cash"].total == 9, at
        office.check_money()


def test_a_campaign_that_is_edited_all_the_time_is_not_edited(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    office = Office()
    real = office.campaigns.edit

    def faster(after: Campaign, before: Campaign, *noted: Any) -> bool:
        assert real(replace(before, version=before.version + 1), before)
        return real(after, before, *noted)

    monkeypatch.setattr(office.campaigns, "edit", faster)

    with pytest.raises(Unavailable):
        office.edit(LATER, None)

    assert office.ends_ms() == {GALA.ends_at_ms}
