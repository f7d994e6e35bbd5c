"""Rate limits: refused callers, waiting times, and behavior while the cache is unavailable."""

from dataclasses import dataclass, field

import pytest

from redpacket.operations.model.limits import PASSPHRASE_TRIES, Limit, daily_send_limit, wrong_tries
from redpacket.operations.use_cases.limit_rate import AWAY_MS, UserLimit, limit_rate, require_rate
from redpacket.platform.errors import RateLimited, Unavailable
from testing.fakes import FakeClock, FakeLimits, FakeLogger


@dataclass
class Gate:
    clock: FakeClock = field(default_factory=FakeClock)
    logger: FakeLogger = field(default_factory=FakeLogger)

    def __post_init__(self) -> None:
        self.limits = FakeLimits(self.clock)

    def passes(self, limit: Limit, subject: str = "ann") -> int:
        """Return how many calls pass at one moment."""
        count = 0
        while self.retry_after_s(limit, subject) is None:
            count += 1
        return count

    def retry_after_s(self, limit: Limit, subject: str = "ann") -> int | None:
        try:
            limit_rate(limit, subject, limits=self.limits, logger=self.logger)
        except RateLimited as error:
            return error.retry_after_s
        return None


@pytest.fixture
def gate() -> Gate:
    return Gate()


@pytest.mark.parametrize(
    "limit",
    [Limit("send", 120, 300), Limit("send", 7, 2), Limit("send", 1000, 1), PASSPHRASE_TRIES],
)
def test_a_user_who_waits_for_retry_after_passes(gate: Gate, limit: Limit) -> None:
    assert gate.passes(limit) == limit.burst

    for _ in range(10):
        wait_s = gate.retry_after_s(limit)
        if wait_s is not None:
            gate.clock.sleep_ms(wait_s * 1000)
            assert gate.retry_after_s(limit) is None


def test_retry_after_is_no_longer_than_necessary(gate: Gate) -> None:
    limit = Limit("send", 6, 1)  # One every ten seconds.
    gate.passes(limit)

    assert gate.retry_after_s(limit) == 10
    gate.clock.sleep_ms(8_999)
    assert gate.retry_after_s(limit) == 2
    gate.clock.sleep_ms(1)
    assert gate.retry_after_s(limit) == 1
    gate.clock.sleep_ms(1_000)
    assert gate.retry_after_s(limit) is None


def test_a_limit_of_one_an_hour_is_one_an_hour(gate: Gate) -> None:
    limit = wrong_tries(10)

    assert gate.passes(limit) == limit.burst == 40
    assert gate.retry_after_s(limit) == 3600


def test_requests_that_must_be_counted_are_refused_while_the_cache_is_unavailable(
    gate: Gate,
) -> None:
    gate.limits.is_away = True

    with pytest.raises(Unavailable):
        require_rate(PASSPHRASE_TRIES, "ann", limits=gate.limits)


def test_an_unavailable_cache_lets_all_callers_pass_and_is_logged(gate: Gate) -> None:
    limit = Limit("send", 1, 1)
    gate.passes(limit)
    gate.limits.is_away = True

    assert [gate.retry_after_s(limit) for _ in range(3)] == [None] * 3
    assert [name for name, _ in gate.logger.errors] == ["limit_not_checked"] * 3


def test_a_limit_is_counted_for_each_user_and_each_limit(gate: Gate) -> None:
    reads, grabs = (
        UserLimit(find, limits=gate.limits, clock=gate.clock, logger=gate.logger)
        for find in (lambda: Limit("read", 600, 2), lambda: Limit("grab", 600, 2))
    )
    for _ in range(2):
        reads.count("ann")

    with pytest.raises(RateLimited) as refused:
        reads.count("ann")
    assert refused.value.retry_after_s == 1
    reads.count("bob")
    grabs.count("ann")


def test_not_every_read_waits_for_an_unavailable_cache(gate: Gate) -> None:
    limit = UserLimit(
        lambda: Limit("read", 600, 1), limits=gate.limits, clock=gate.clock, logger=gate.logger
    )
    gate.limits.is_away = True
    for _ in range(10):
        limit.count("ann")
    assert [name for name, _ in gate.logger.errors] == ["limit_not_checked"]

    gate.clock.sleep_ms(AWAY_MS)
    limit.count("ann")
    assert len(gate.logger.errors) == 2
    gate.limits.is_away = False
    gate.clock.sleep_ms(AWAY_MS)
    limit.count("ann")

    with pytest.raises(RateLimited):
        limit.count("ann")


def test_the_daily_limit_bounds_the_packets_of_one_user(gate: Gate) -> None:
    limit = daily_send_limit(1000)
    passed = 0

    for _ in range(24 * 8):  # Eight days without a pause.
        passed += gate.passes(limit)
        gate.clock.sleep_ms(3_600_000)

    # Formula of docs/capacity.md.
    assert 8_900 < passed <= 9_000
