"""Suites for the switch store and its copy: fakes, the AWS emulator, and a real cache."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest

from local.ports import HOST
from redpacket.operations.dynamodb.switches import DynamoSwitches
from redpacket.operations.model.limits import LimitName
from redpacket.operations.model.switches import Switch, SwitchState
from redpacket.operations.ports import SwitchCopy, SwitchesSeen, SwitchStore
from redpacket.operations.redis import keys
from redpacket.operations.redis.switches import RedisSwitches
from redpacket.platform.dynamodb.client import Dynamo
from redpacket.platform.errors import Unavailable
from redpacket.platform.redis.connect import connect
from testing.builders import NOW_MS
from testing.fakes import FakeClock, FakeSwitchCopy, FakeSwitchStore
from testing.operations.signed_texts import TEXTS
from testing.platform.fake_tables import TABLE_NAMES
from testing.platform.servers import OperatorCache
from tests.contract.tables import KINDS, a_client

OFF = SwitchState(
    Switch.SEND, is_on=False, reason="维护", changed_at_ms=NOW_MS, changed_by="operator"
)


@pytest.fixture(params=["store", *KINDS])
def store(request: pytest.FixtureRequest) -> Iterator[SwitchStore]:
    """Yield the fake, or the adapter on a table without switches."""
    if request.param == "store":
        yield FakeSwitchStore()
        return
    with a_client(request.param, request) as client:
        row = {"TableName": "switches", "Key": {"pk": {"S": "switches"}}}
        client.delete_item(**row)
        yield DynamoSwitches(Dynamo(lambda: client, TABLE_NAMES))
        client.delete_item(**row)


def _state(store: SwitchStore, switch: Switch) -> SwitchState:
    (state,) = [
        switch_state for switch_state in store.read().states if switch_state.switch is switch
    ]
    return state


def test_a_switch_is_on_by_default(store: SwitchStore) -> None:
    assert store.read().states == [SwitchState(switch, is_on=True) for switch in Switch]


def test_a_stored_switch_is_read_unchanged_and_the_others_keep_their_values(
    store: SwitchStore,
) -> None:
    store.put(OFF)
    on_again = SwitchState(Switch.GRAB, changed_at_ms=NOW_MS + 1, changed_by="somebody")
    store.put(on_again)

    assert _state(store, Switch.SEND) == OFF
    assert _state(store, Switch.GRAB) == on_again
    assert _state(store, Switch.PAYOUT) == SwitchState(Switch.PAYOUT)


@pytest.mark.parametrize("kind", KINDS)
def test_the_first_money_fixes_the_unit_and_another_one_turns_off_every_switch(
    kind: str, request: pytest.FixtureRequest
) -> None:
    with a_client(kind, request) as client:
        row = {"TableName": "switches", "Key": {"pk": {"S": "switches"}}}
        client.delete_item(**row)
        dynamo = Dynamo(lambda: client, TABLE_NAMES)
        yuan, points = DynamoSwitches(dynamo, "CNY,2"), DynamoSwitches(dynamo, "points,0")
        assert all(state.is_on for state in points.read().states)

        yuan.fix_unit()
        yuan.fix_unit()

        assert all(state.is_on for state in yuan.read().states)
        refused = points.read().states
        assert {state.switch for state in refused if not state.is_on} == set(Switch)
        assert "must be CNY,2" in refused[0].reason
        with pytest.raises(Unavailable):
            points.fix_unit()
        client.delete_item(**row)


def test_the_last_write_wins(store: SwitchStore) -> None:
    store.put(OFF)
    store.put(SwitchState(Switch.SEND, changed_at_ms=NOW_MS + 1, changed_by="operator"))

    assert _state(store, Switch.SEND).is_on


def test_a_stored_limit_applies_until_its_default_is_restored(store: SwitchStore) -> None:
    assert store.read().limits == {}
    store.put_limit(LimitName.SENDS_PER_DAY, 7)
    store.put_limit(LimitName.PAYOUTS_AT_ONCE, 3)
    store.put_limit(LimitName.SENDS_PER_DAY, 8)
    store.put(OFF)
    assert store.read().limits == {LimitName.SENDS_PER_DAY: 8, LimitName.PAYOUTS_AT_ONCE: 3}

    store.put_limit(LimitName.SENDS_PER_DAY, None)

    assert store.read().limits == {LimitName.PAYOUTS_AT_ONCE: 3}
    assert _state(store, Switch.SEND) == OFF


# ---------------------------------------------------------------- the copy


@dataclass
class Copy:
    """Copy under test, and a way to advance the time."""

    copy: SwitchCopy
    sleep_ms: Callable[[int], None]


@pytest.fixture(params=["fake", "redis"])
def shared(request: pytest.FixtureRequest) -> Iterator[Copy]:
    if request.param == "fake":
        clock = FakeClock()
        yield Copy(FakeSwitchCopy(clock), clock.sleep_ms)
    else:
        cache: OperatorCache = request.getfixturevalue("cache")
        yield Copy(RedisSwitches(cache, TEXTS), lambda ms: time.sleep(ms / 1000))


def test_a_missing_copy_is_not_found(shared: Copy) -> None:
    assert shared.copy.find() is None


@pytest.mark.parametrize(
    "seen",
    [
        SwitchesSeen(frozenset()),
        SwitchesSeen(frozenset({Switch.SEND})),
        SwitchesSeen(frozenset(Switch)),
        SwitchesSeen(frozenset(), is_known=False),
        SwitchesSeen(frozenset({Switch.GRAB}), limits={LimitName.SENDS_PER_DAY: 7}),
        SwitchesSeen(frozenset(), limits=dict.fromkeys(LimitName, 10)),
    ],
    ids=["all on", "one off", "all off", "unknown", "a limit", "all limits"],
)
def test_a_stored_copy_is_found_and_forgotten(shared: Copy, seen: SwitchesSeen) -> None:
    shared.copy.keep(seen, 60)

    switches_seen = shared.copy.find()
    shared.sleep_ms(80)

    assert switches_seen == seen
    assert shared.copy.find() is None


def test_an_unknown_switch_is_ignored(cache: OperatorCache) -> None:
    cache.set(keys.SWITCH_COPY, TEXTS.write(keys.SWITCH_COPY, "fly,grab", 1_000))

    assert RedisSwitches(cache, TEXTS).find() == SwitchesSeen(frozenset({Switch.GRAB}))


@pytest.mark.parametrize("forged", ["", "draw,grab", "99999999999999|draw|mac", "|", "x|grab|"])
def test_a_copy_that_no_function_wrote_is_ignored(cache: OperatorCache, forged: str) -> None:
    cache.set(keys.SWITCH_COPY, forged)

    assert RedisSwitches(cache, TEXTS).find() is None


def test_an_expired_copy_is_ignored(cache: OperatorCache) -> None:
    cache.set(keys.SWITCH_COPY, TEXTS.write(keys.SWITCH_COPY, "grab", -1))

    assert RedisSwitches(cache, TEXTS).find() is None


def test_a_copy_under_another_key_is_ignored(cache: OperatorCache) -> None:
    cache.set(keys.SWITCH_COPY, TEXTS.write("rp:other", "grab", 1_000))

    assert RedisSwitches(cache, TEXTS).find() is None


def test_a_copy_on_an_unreachable_cache_is_unavailable() -> None:
    copy = RedisSwitches(
        connect(HOST, 1, has_tls=False, username="", password="", timeout_s=0.2), TEXTS
    )

    with pytest.raises(Unavailable):
        copy.find()
    with pytest.raises(Unavailable):
        copy.keep(SwitchesSeen(frozenset()), 1000)
