import random

import pytest

from redpacket.packets.model.claim import EMPTIED_KEPT_MS
from redpacket.packets.use_cases.cached_emptied import HOLDERS_MAX, CachedEmptied
from testing.builders import a_packet
from testing.fakes import FakeClock, FakeShards


class CountedClaimCache(FakeShards):
    reads = 0

    def emptied_by(self, packet_id: str) -> frozenset[str] | None:
        self.reads += 1
        return super().emptied_by(packet_id)


class Process:
    """Process that handles grabs and reads its cache as packets/use_cases/claim_share.py does."""

    def __init__(self, claim_cache: FakeShards) -> None:
        self.claim_cache = claim_cache
        self.emptied = CachedEmptied(claim_cache, clock=claim_cache.clock)

    def grab(self, packet_id: str, user_id: str) -> int | None:
        if self.emptied.refuses(packet_id, user_id):
            return None
        outcome = self.claim_cache.grab(packet_id, user_id)
        if outcome.status == "packet_emptied":
            self.emptied.put(packet_id, outcome.terms)
        return outcome.share_no


@pytest.fixture
def claim_cache() -> CountedClaimCache:
    return CountedClaimCache(FakeClock())


def _emptied(claim_cache: FakeShards, count: int = 2) -> str:
    packet = a_packet(100 * count, count, expires_at_ms=claim_cache.clock.now_ms() + 10**9)
    claim_cache.load(packet, [])
    for number in range(count):
        claim_cache.grab(packet.packet_id, f"owner-{number}")
    return packet.packet_id


def test_many_losers_cost_one_refusal_and_one_read_a_second(
    claim_cache: CountedClaimCache,
) -> None:
    packet_id, process = _emptied(claim_cache), Process(claim_cache)

    refused = [process.emptied.refuses(packet_id, "late")]
    assert process.grab(packet_id, "late") is None
    refused += [process.emptied.refuses(packet_id, f"later-{n}") for n in range(50)]

    assert refused == [False] + [True] * 50
    assert claim_cache.reads == 1
    claim_cache.clock.sleep_ms(EMPTIED_KEPT_MS)
    assert not process.emptied.refuses(packet_id, "late")


def test_an_owner_is_never_refused(claim_cache: CountedClaimCache) -> None:
    packet_id, process = _emptied(claim_cache), Process(claim_cache)
    for _ in range(3):
        process.grab(packet_id, "late")

    assert not process.emptied.refuses(packet_id, "owner-1")
    assert process.grab(packet_id, "owner-1") == 2


def test_a_packet_with_a_returned_number_is_removed_from_the_cache(
    claim_cache: CountedClaimCache,
) -> None:
    packet_id, process = _emptied(claim_cache), Process(claim_cache)
    process.grab(packet_id, "late")

    claim_cache.release(packet_id, "owner-1", 2)

    assert not process.emptied.refuses(packet_id, "late")
    claim_cache.clock.sleep_ms(EMPTIED_KEPT_MS)
    assert process.grab(packet_id, "late") == 2


def test_a_large_packet_is_not_cached(claim_cache: CountedClaimCache) -> None:
    packet_id, process = _emptied(claim_cache, HOLDERS_MAX + 1), Process(claim_cache)

    assert process.grab(packet_id, "late") is None
    assert not process.emptied.refuses(packet_id, "late")
    assert claim_cache.reads == 0


def test_a_clock_that_was_set_back_does_not_freeze_the_cached_state(
    claim_cache: CountedClaimCache,
) -> None:
    packet_id, process = _emptied(claim_cache), Process(claim_cache)
    for _ in range(2):
        process.grab(packet_id, "late")

    claim_cache.clock.at_ms -= 10 * EMPTIED_KEPT_MS

    assert not process.emptied.refuses(packet_id, "late")


@pytest.mark.parametrize("seed", range(50))
def test_no_process_hides_a_claim_from_another_process(
    claim_cache: CountedClaimCache, seed: int
) -> None:
    chance = random.Random(seed)
    packet_id, processes = _emptied(claim_cache, 3), [Process(claim_cache) for _ in range(3)]
    owned: dict[str, int] = {}
    repeat_count = 0
    for _ in range(300):
        claim_cache.clock.sleep_ms(chance.choice((0, 1, 20, 300)))
        user_id = f"user-{chance.randrange(8)}"
        share_no = chance.choice(processes).grab(packet_id, user_id)
        if user_id in owned:
            assert share_no == owned[user_id]
            repeat_count += 1
        elif share_no:
            owned[user_id] = share_no
        holders = claim_cache.holders(packet_id)
        if chance.random() < 0.1 and holders:
            # The ledger has this number for a user who never got an answer, so the cache releases
            # it.
            unlucky = chance.choice(sorted(holders))
            claim_cache.release(packet_id, unlucky, holders[unlucky])
            owned.pop(unlucky, None)
    assert repeat_count
