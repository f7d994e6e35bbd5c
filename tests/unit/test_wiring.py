"""The wiring builds late, builds once, and takes what it is given."""

from __future__ import annotations

from functools import cached_property

import pytest

from redpacket.adapters.keys import WORK_SHARDS, work_shards
from redpacket.domain.errors import RateLimited
from redpacket.edge.settings import SettingMissing, Settings
from redpacket.edge.wiring import Wiring
from testing.in_memory_system import VARIABLES, InMemorySystem

BUILT = [
    name
    for room in Wiring.__mro__
    for name, made in vars(room).items()
    if isinstance(made, cached_property)
]


def test_nothing_is_built_before_it_is_asked_for() -> None:
    assert vars(Wiring()) == {}


def test_what_is_built_is_built_once() -> None:
    wiring = Wiring(settings=Settings(VARIABLES))

    assert wiring.packets is wiring.packets


def test_a_missing_variable_names_itself() -> None:
    wiring = Wiring(settings=Settings({}))

    with pytest.raises(SettingMissing, match="PACKETS_TABLE"):
        _ = wiring.packets


def test_an_ill_formed_variable_names_itself() -> None:
    settings = Settings({"SEND_BURST": "many"})

    with pytest.raises(SettingMissing, match="SEND_BURST is not an integer"):
        settings.send_burst()
    with pytest.raises(SettingMissing, match="CACHE_ENDPOINT is not host:port"):
        Settings({"CACHE_ENDPOINT": "localhost"}).cache_address()


def test_a_stand_in_of_an_unknown_name_is_refused() -> None:
    with pytest.raises(TypeError, match="pakets"):
        Wiring(pakets=None)


@pytest.mark.parametrize("name", sorted(BUILT))
def test_everything_can_be_built_over_stand_ins(name: str, system: InMemorySystem) -> None:
    limits = {
        f"{what}_{kind}": "9"
        for what in ("READ", "GRAB", "DRAW", "SEND")
        for kind in ("BURST", "PER_MINUTE")
    }
    limits |= {f"{what}S_PER_MINUTE": "9" for what in ("READ", "GRAB", "DRAW", "SEND")}
    more = {
        "PAYOUT_QUEUE_URL": "https://queue",
        "PAYOUT_DLQ_URL": "https://dead",
        "PAYOUT_MAPPING_ID": "mapping",
        "SWITCHES_TABLE": "switches",
        "SHARE_FEN_MAX": "20000",
        "PART_SHARE_COUNT": "20000",
        "CACHE_ENDPOINT": "localhost:6379",
        "CACHE_TLS": "false",
        "CACHE_CLUSTER": "false",
    }
    wiring = Wiring(settings=Settings({**VARIABLES, **limits, **more}), clock=system.clock)

    assert getattr(wiring, name) is not None


def test_a_send_passes_the_limit_of_the_minute_and_that_of_the_day(system: InMemorySystem) -> None:
    variables = {"SENDS_PER_MINUTE": "600", "SEND_BURST": "9", "SENDS_PER_DAY": "2"}
    process = system.process(settings=Settings(variables))
    process.limit_sends("ann")
    process.limit_sends("ann")

    with pytest.raises(RateLimited):
        process.limit_sends("ann")

    slow = {"SENDS_PER_MINUTE": "1", "SEND_BURST": "1", "SENDS_PER_DAY": "999"}
    process = system.process(settings=Settings(slow))
    process.limit_sends("bob")
    with pytest.raises(RateLimited):
        process.limit_sends("bob")


@pytest.mark.parametrize("groups", [1, 2, 3, 5, WORK_SHARDS])
def test_all_groups_of_sweeps_share_all_work(groups: int) -> None:
    shards = [shard for group in range(groups) for shard in work_shards(group, groups)]

    assert sorted(shards) == list(range(WORK_SHARDS))
