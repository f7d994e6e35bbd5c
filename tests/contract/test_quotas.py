"""One suite for the quotas in memory and on a real server."""

import pytest

from redpacket.packets.model.claim import Quota
from redpacket.packets.ports import Quotas
from redpacket.packets.redis import keys
from redpacket.packets.redis.quotas import RedisQuotas
from testing.fakes import FakeQuotas
from testing.servers import OperatorCache

QUOTA = Quota("newyear", 2)


@pytest.fixture(params=["fake", "redis"])
def quotas(request: pytest.FixtureRequest) -> Quotas:
    if request.param == "fake":
        return FakeQuotas()
    return RedisQuotas(request.getfixturevalue("cache"))


def test_a_user_reserves_as_many_packets_as_the_quota(quotas: Quotas) -> None:
    answers = [quotas.reserve(QUOTA, "ann", packet) for packet in ("one", "two", "three", "one")]

    assert answers == ["reserved", "reserved", "full", "reserved"]
    assert quotas.reserve(QUOTA, "bob", "three") == "reserved"
    assert quotas.reserve(Quota("lantern", 2), "ann", "three") == "reserved"


def test_a_reservation_that_is_released_makes_room(quotas: Quotas) -> None:
    for packet in ("one", "two"):
        quotas.reserve(QUOTA, "ann", packet)

    for _ in range(2):
        quotas.release(QUOTA, "ann", "one")

    assert quotas.reserve(QUOTA, "ann", "three") == "reserved"
    assert quotas.reserve(QUOTA, "ann", "four") == "full"


def test_who_is_known_to_have_had_enough_is_remembered(quotas: Quotas) -> None:
    assert quotas.reserve(QUOTA, "ann", "one", claimed_count=2) == "exhausted"
    assert quotas.reserve(QUOTA, "ann", "one") == "exhausted"


def test_who_has_had_enough_may_go_on_when_the_quota_is_raised(quotas: Quotas) -> None:
    quotas.reserve(QUOTA, "ann", "one", claimed_count=2)

    assert quotas.reserve(Quota("newyear", 3), "ann", "one") == "reserved"


def test_what_the_ledger_knows_does_not_count_as_a_reservation(quotas: Quotas) -> None:
    answers = [
        quotas.reserve(QUOTA, "ann", packet, claimed_count=0) for packet in ("one", "two", "three")
    ]

    assert answers == ["reserved", "reserved", "full"]


def test_it_is_forgotten_after_a_day(cache: OperatorCache) -> None:
    quotas = RedisQuotas(cache)
    quotas.reserve(QUOTA, "ann", "one")
    quotas.reserve(QUOTA, "bob", "one", claimed_count=2)

    for user in ("ann", "bob"):
        assert 0 < cache.pttl(keys.quota("newyear", user)) <= 24 * 3600 * 1000
