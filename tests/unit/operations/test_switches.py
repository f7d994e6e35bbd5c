"""Switches: cached states, changes by operators, and work that waits while one is off."""

from dataclasses import dataclass, field

import pytest

from redpacket.operations.dynamodb.audit_log import DynamoActions
from redpacket.operations.errors import SwitchNotFound
from redpacket.operations.model.limits import BOUNDS, DRAWS, GRABS, SENDS, LimitName
from redpacket.operations.model.switches import Switch, SwitchState, switch_named
from redpacket.operations.ports import SwitchRow
from redpacket.operations.use_cases.cached_switches import KEPT_MS, CachedSwitches
from redpacket.operations.use_cases.turn_switch import SwitchPorts, set_limit, turn_switch
from redpacket.packets.model.claim import ShareRef
from redpacket.packets.use_cases.repair import requeue_claims
from redpacket.packets.use_cases.settle_or_delay import delay_claims
from redpacket.platform.dynamodb.client import Dynamo
from redpacket.platform.errors import InvalidRequest, SwitchedOff, Unavailable
from redpacket.platform.user import User
from testing import fakes
from testing.builders import NOW_MS
from testing.in_memory_system import LIFE_MS, InMemorySystem
from testing.platform.fake_tables import TABLE_NAMES


@dataclass
class ClaimPorts:
    """Switch store, the copy of it, and processes that read both."""

    clock: fakes.FakeClock = field(default_factory=fakes.FakeClock)
    logger: fakes.FakeLogger = field(default_factory=fakes.FakeLogger)
    store: fakes.FakeSwitchStore = field(default_factory=fakes.FakeSwitchStore)
    dynamo: fakes.FakeDynamo = field(default_factory=fakes.FakeDynamo)

    def __post_init__(self) -> None:
        self.copy = fakes.FakeSwitchCopy(self.clock)

    def process(self, *, has_cache: bool = True) -> CachedSwitches:
        return CachedSwitches(
            store=self.store,
            copy=self.copy if has_cache else None,
            clock=self.clock,
            logger=self.logger,
        )

    def turn(self, switch: Switch, reason: str = "", *, is_on: bool) -> SwitchState:
        return turn_switch(
            switch,
            is_on=is_on,
            reason=reason,
            operator=User("operator"),
            ports=SwitchPorts(self.store, self.actions(), self.clock, self.logger),
        )

    def set_limit(self, name: LimitName, value: int | None) -> int | None:
        return set_limit(
            name,
            value,
            operator=User("operator"),
            ports=SwitchPorts(self.store, self.actions(), self.clock, self.logger),
        )

    def actions(self) -> DynamoActions:
        return DynamoActions(Dynamo(lambda: self.dynamo, TABLE_NAMES))


@pytest.fixture
def ports() -> ClaimPorts:
    return ClaimPorts()


# ---------------------------------------------------------------- cached state


def test_a_disabled_action_is_refused_with_a_time_to_retry(ports: ClaimPorts) -> None:
    ports.store.turn(Switch.SEND, is_on=False)
    process = ports.process()

    process.require_on(Switch.GRAB)
    with pytest.raises(SwitchedOff) as refused:
        process.require_on(Switch.SEND)

    assert refused.value.retry_after_s == 10


@pytest.mark.parametrize("has_cache", [True, False], ids=["with a cache", "without"])
@pytest.mark.parametrize("is_on", [True, False], ids=["on", "off"])
def test_a_switch_takes_effect_within_ten_seconds_for_every_process(
    ports: ClaimPorts, *, has_cache: bool, is_on: bool
) -> None:
    ports.store.turn(Switch.GRAB, is_on=not is_on)
    early, late = ports.process(has_cache=has_cache), ports.process(has_cache=has_cache)
    early.is_on(Switch.GRAB)
    ports.store.turn(Switch.GRAB, is_on=is_on)
    ports.clock.sleep_ms(KEPT_MS - 1)
    late.is_on(Switch.GRAB)  # The copy is near the end of its life, but still used.

    ports.clock.sleep_ms(KEPT_MS)

    assert early.is_on(Switch.GRAB) is is_on
    assert late.is_on(Switch.GRAB) is is_on


def test_many_callers_read_the_store_once_per_interval_even_if_it_is_unavailable(
    ports: ClaimPorts,
) -> None:
    for error in (None, Unavailable("away")):
        ports.store.error = error
        crowd = [ports.process() for _ in range(100)]
        before = ports.store.read_count

        for _ in range(50):
            for process in crowd:
                process.is_on(Switch.GRAB)

        assert ports.store.read_count == before + 1
        ports.clock.sleep_ms(2 * KEPT_MS)


def test_a_slow_answer_is_not_cached_longer(ports: ClaimPorts) -> None:
    process, other = ports.process(), ports.process()
    read = ports.store.read

    def slow() -> SwitchRow:
        row = read()
        ports.clock.sleep_ms(KEPT_MS - 500)
        return row

    ports.store.read = slow  # type: ignore[method-assign]
    process.is_on(Switch.GRAB)
    ports.store.turn(Switch.GRAB, is_on=False)
    ports.clock.sleep_ms(501)

    assert not other.is_on(Switch.GRAB)


def test_everything_is_on_if_the_store_has_never_answered(ports: ClaimPorts) -> None:
    ports.store.error = Unavailable("away")

    assert all(ports.process().is_on(switch) for switch in Switch)


@pytest.mark.parametrize("error", [Unavailable("away"), RuntimeError("no permission")], ids=repr)
@pytest.mark.parametrize("has_cache", [True, False], ids=["with a cache", "without"])
def test_the_last_known_state_holds_and_is_logged_once_per_interval(
    ports: ClaimPorts, error: Exception, *, has_cache: bool
) -> None:
    ports.store.turn(Switch.GRAB, is_on=False)
    process = ports.process(has_cache=has_cache)
    process.is_on(Switch.GRAB)
    ports.store.error = error
    ports.store.turn(Switch.GRAB, is_on=True)
    ports.clock.sleep_ms(KEPT_MS)

    answers = {process.is_on(Switch.GRAB) for _ in range(100)}

    assert answers == {False}
    assert ports.logger.errors == [("switches_not_read", error)]


def test_without_the_copy_the_store_is_read(ports: ClaimPorts) -> None:
    ports.store.turn(Switch.SEND, is_on=False)
    ports.copy.is_away = True
    process = ports.process()

    answers = {process.is_on(Switch.SEND) for _ in range(10)}

    assert answers == {False}
    assert ports.store.read_count == 1
    # The copy failed twice: before the store was read, and afterwards.
    assert [name for name, _ in ports.logger.errors] == ["switches_not_read"] * 2


def test_a_clock_that_was_set_back_does_not_freeze_the_cached_state(ports: ClaimPorts) -> None:
    process = ports.process(has_cache=False)
    process.is_on(Switch.GRAB)
    ports.store.turn(Switch.GRAB, is_on=False)

    ports.clock.at_ms -= 3_600_000

    assert not process.is_on(Switch.GRAB)


# ---------------------------------------------------------------- limits


@pytest.mark.parametrize("has_cache", [True, False], ids=["with a cache", "without"])
def test_a_limit_takes_effect_within_ten_seconds_and_costs_no_extra_read(
    ports: ClaimPorts, *, has_cache: bool
) -> None:
    process = ports.process(has_cache=has_cache)
    assert process.limit(LimitName.GRABS_PER_MINUTE) == 600
    ports.set_limit(LimitName.GRABS_PER_MINUTE, 60)
    ports.clock.sleep_ms(2 * KEPT_MS)
    process.require_on(Switch.GRAB)
    read_count = ports.store.read_count

    assert process.limit(LimitName.GRABS_PER_MINUTE) == 60
    assert process.limit(LimitName.DRAWS_PER_MINUTE) == 60
    assert ports.store.read_count == read_count


@pytest.mark.parametrize(("stored", "limit"), [(0, 1), (11, 10), (5, 5)])
def test_a_row_out_of_bounds_is_set_to_the_bound(
    ports: ClaimPorts, stored: int, limit: int
) -> None:
    ports.store.put_limit(LimitName.PAYOUTS_AT_ONCE, stored)

    assert ports.process().limit(LimitName.PAYOUTS_AT_ONCE) == limit


def test_the_last_limits_hold_while_the_store_is_unavailable(ports: ClaimPorts) -> None:
    process = ports.process()
    ports.store.put_limit(LimitName.SENDS_PER_DAY, 7)
    assert process.limit(LimitName.SENDS_PER_DAY) == 7
    ports.store.error = Unavailable("away")
    ports.clock.sleep_ms(2 * KEPT_MS)

    assert process.limit(LimitName.SENDS_PER_DAY) == 7


def test_a_limit_is_set_once_logged_and_restored(ports: ClaimPorts) -> None:
    for _ in range(2):
        ports.set_limit(LimitName.SENDS_PER_DAY, 1)
        ports.clock.sleep_ms(1)
    ports.set_limit(LimitName.SENDS_PER_DAY, None)

    assert ports.store.limits == {}
    assert ports.logger.events == ["limit_set"] * 2
    noted = ports.actions().list_actions("limit:sends_per_day", None, 10)[0]
    changes = [change for logged_action in noted for change in logged_action.action.changes]
    assert [(each.before, each.after) for each in changes] == [("1", None), (None, "1")]


@pytest.mark.parametrize("name", LimitName)
def test_a_limit_has_bounds_which_a_refusal_names(ports: ClaimPorts, name: LimitName) -> None:
    bounds = BOUNDS[name]
    assert bounds.lowest <= bounds.default <= bounds.highest
    for value in (bounds.lowest, bounds.highest):
        assert ports.set_limit(name, value) == value

    for value in (bounds.lowest - 1, bounds.highest + 1):
        with pytest.raises(InvalidRequest) as refused:
            ports.set_limit(name, value)
        message = f"{name} must be from {bounds.lowest} to {bounds.highest}"
        assert refused.value.errors == [{"field": "value", "message": message}]
    assert ports.store.limits == {name: bounds.highest}


def test_defaults_are_the_limits_of_the_code_and_another_rate_recovers_as_fast() -> None:
    for limit, name in (
        (GRABS, LimitName.GRABS_PER_MINUTE),
        (SENDS, LimitName.SENDS_PER_MINUTE),
        (DRAWS, LimitName.DRAWS_PER_MINUTE),
    ):
        bounds = BOUNDS[name]
        assert limit.scaled(bounds.default) == limit
        for rate in (bounds.lowest, bounds.highest):
            scaled = limit.scaled(rate)
            assert scaled.burst >= 1
            assert scaled.burst - 1 < rate * limit.burst / limit.per_minute <= scaled.burst


# ---------------------------------------------------------------- turning


def test_turning_a_switch_logs_operator_time_and_reason(ports: ClaimPorts) -> None:
    state = ports.turn(Switch.SEND, "维护", is_on=False)

    assert state == SwitchState(
        Switch.SEND, is_on=False, reason="维护", changed_at_ms=NOW_MS, changed_by="operator"
    )
    assert ports.store.states[Switch.SEND] == state
    assert ports.logger.events == ["switch_changed"]


def test_turning_a_switch_again_changes_nothing(ports: ClaimPorts) -> None:
    first = ports.turn(Switch.SEND, is_on=False)
    ports.clock.sleep_ms(1000)

    assert ports.turn(Switch.SEND, is_on=False) == first
    # Turning on a switch that was never off changes nothing either.
    assert ports.turn(Switch.GRAB, is_on=True).changed_at_ms is None
    assert ports.logger.events == ["switch_changed"]


def test_an_unknown_switch_is_not_found() -> None:
    assert switch_named("payout") is Switch.PAYOUT
    with pytest.raises(SwitchNotFound):
        switch_named("everything")


# ---------------------------------------------------------------- waiting work


def test_claims_that_arrive_while_payouts_are_off_are_queued_again_once_each() -> None:
    payouts, logger = fakes.FakeQueue(), fakes.FakeLogger()
    first, second = ShareRef("p" * 22, 1), ShareRef("p" * 22, 2)

    failed = delay_claims([first, second, first], payouts=payouts, logger=logger, now_ms=NOW_MS)

    assert failed == set()
    assert (payouts.refs, payouts.delays_s) == ([first, second], [10, 10])
    assert logger.events == ["payouts_paused"]


def test_claims_that_cannot_be_queued_again_are_not_acknowledged() -> None:
    with pytest.raises(Unavailable):
        delay_claims(
            [ShareRef("p" * 22, 1)],
            payouts=fakes.Away(),
            logger=fakes.FakeLogger(),
            now_ms=NOW_MS,
        )


@pytest.mark.parametrize(
    ("ages_s", "delay_s"),
    [([10], 10), ([11], 11), ([40, 300], 40), ([899], 899), ([901], 900), ([86_400], 900)],
)
def test_the_delay_of_a_claim_grows_with_the_time_it_has_waited(
    ages_s: list[int], delay_s: int
) -> None:
    """Messages from a long pause must not occupy all concurrent executions."""
    payouts, logger = fakes.FakeQueue(), fakes.FakeLogger()
    refs = [
        ShareRef("p" * 22, number, said_at_ms=NOW_MS - age_s * 1000)
        for number, age_s in enumerate(ages_s)
    ]

    delay_claims(refs, payouts=payouts, logger=logger, now_ms=NOW_MS)

    assert set(payouts.delays_s) == {delay_s}


def test_while_payouts_are_off_the_sweep_queues_nothing_again(system: InMemorySystem) -> None:
    packet = system.send(count=1)
    system.grab(packet, "ann")
    system.queue.take_all()
    system.pass_time(61_000)

    def requeue(*, is_on: bool) -> list[ShareRef]:
        stop_at_ms, ports = system.clock.now_ms() + 50_000, system.sweep_ports()
        return requeue_claims(stop_at_ms, ports=ports, should_continue=lambda: is_on).results

    assert requeue(is_on=False) == []
    assert system.queue.refs == []
    assert requeue(is_on=True) == [ShareRef(packet.packet_id, 1)]
    system.settle()


def _sweep(system: InMemorySystem, answers: list[bool]) -> int:
    return system.expire(should_continue=lambda: answers.pop(0) if answers else False).refunded_fen


def test_while_refunds_are_off_due_packets_stay_open_and_wait(system: InMemorySystem) -> None:
    packet = system.send()
    system.pass_time(LIFE_MS + 1)

    assert _sweep(system, [False]) == 0

    assert system.stored(packet).status == "open"
    assert system.expire().closed_count == 1
    assert system.balance_fen("sender") == 1000


def test_refunds_that_are_switched_off_stop_between_two_chunks_and_continue_later(
    system: InMemorySystem,
) -> None:
    system.send(total_fen=20_000, count=200)
    system.pass_time(LIFE_MS + 1)

    # The sweep reads the switch before the close, the refund, its shard, and each chunk of 45
    # shares.
    refunded_fen = _sweep(system, [True, True, True, True, False])

    assert 0 < refunded_fen < 20_000
    assert system.balance_fen("sender") == refunded_fen
    assert system.logger.errors == []
    assert system.expire().closed_count == 1
    assert system.balance_fen("sender") == 20_000
