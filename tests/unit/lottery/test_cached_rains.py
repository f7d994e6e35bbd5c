"""Rounds of a campaign, as a process caches them."""

from collections.abc import Collection
from typing import Any, cast

import pytest

from redpacket.lottery.use_cases.cached_rains import CachedRains
from redpacket.packets.model.packet import Packet
from redpacket.packets.model.rain import Round
from redpacket.packets.ports import Pages
from redpacket.platform.errors import Unavailable
from testing.builders import NOW_MS
from testing.fakes import FakeClock, FakeLogger
from testing.in_memory_system import InMemorySystem

ENDED = Round(NOW_MS - 30_000, NOW_MS - 10_000, ("packet-1",))


class _CountedPages:
    """Pages of packets without claims, with a count of the reads."""

    def __init__(self) -> None:
        self.read_count = 0
        self.failure: Unavailable | None = None

    def list_eventually_consistent(self, packet_ids: Collection[str]) -> list[Packet]:
        assert packet_ids == ENDED.packet_ids
        self.read_count += 1
        if self.failure:
            raise self.failure
        return []


@pytest.fixture
def pages() -> _CountedPages:
    return _CountedPages()


def _rains(pages: _CountedPages, clock: FakeClock, ended: Round = ENDED) -> CachedRains:
    unused: Any = None
    return CachedRains(
        InMemorySystem().campaigns,
        cast("Pages", pages),
        unused,
        lambda _campaign_id, _since_ms: [ended],
        clock=clock,
        logger=FakeLogger(),
    )


def _show(rains: CachedRains, clock: FakeClock, seconds: int) -> None:
    """Read the rounds once a second for *seconds* seconds."""
    for _ in range(seconds):
        (shown,) = rains.rounds("gala")
        assert shown.podium == ()
        clock.sleep_ms(1_001)


def test_an_ended_round_without_claims_is_read_once(pages: _CountedPages) -> None:
    clock = FakeClock(NOW_MS)

    _show(_rains(pages, clock), clock, 5)

    assert pages.read_count == 1


def test_a_round_that_just_ended_is_read_until_its_last_claims_are_durable(
    pages: _CountedPages,
) -> None:
    clock = FakeClock(NOW_MS)
    just_ended = Round(NOW_MS - 20_000, NOW_MS, ENDED.packet_ids)

    _show(_rains(pages, clock, just_ended), clock, 20)

    assert pages.read_count == 6


def test_a_podium_that_could_not_be_read_is_read_again(pages: _CountedPages) -> None:
    clock, pages.failure = FakeClock(NOW_MS), Unavailable("no table")
    rains = _rains(pages, clock)
    _show(rains, clock, 2)
    pages.failure = None

    _show(rains, clock, 3)

    assert pages.read_count == 3
