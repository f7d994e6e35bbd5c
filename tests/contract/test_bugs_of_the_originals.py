"""What went wrong in the systems that people described (RELIABILITY §3): none of it can, here.

Where the bug is a race, the original's own way runs first, and must show it.
"""

from __future__ import annotations

import random
import re
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest

from redpacket.adapters.redis.claims import RedisClaims
from redpacket.adapters.redis.scripts import LUA_FOLDER, read_script
from redpacket.domain.campaign import Campaign
from redpacket.domain.errors import PacketEmptied
from redpacket.domain.packet import Packet, Rules
from redpacket.domain.split import Split, amounts_fen
from testing.builders import a_campaign, a_packet, some_terms
from testing.in_memory_system import LIFE_MS, InMemorySystem
from testing.servers import OperatorCache


@pytest.fixture
def system() -> InMemorySystem:
    return InMemorySystem()


def _packet(count: int) -> Packet:
    return a_packet(100 * count, count, created_at_ms=int(time.time() * 1000) - 1_000)


def test_check_and_pop_in_separate_commands(cache: OperatorCache) -> None:
    # The original's way: two taps of one user, both checked before either has written.
    cache.rpush("naive:shares", *range(4))
    taps = [cache.hexists("naive:claims", "ann") for _ in range(2)]
    popped = [cache.lpop("naive:shares") for has_claimed in taps if not has_claimed]
    assert len(popped) == 2, "the control must fail"
    users = [f"user-{number % 20}" for number in range(400)]
    random.Random(1).shuffle(users)
    claim_cache, packet = RedisClaims(cache), _packet(400)
    claim_cache.load(packet, [])

    def take(user: str) -> str | None:
        return user if claim_cache.grab(packet.packet_id, user).status == "claimed" else None

    with ThreadPoolExecutor(max_workers=40) as pool:
        ours = Counter(user for user in pool.map(take, users) if user)

    assert set(ours.values()) == {1}
    assert len(ours) == 20


def test_expiry_that_silently_drops_the_money(system: InMemorySystem) -> None:
    packet = system.send(count=4)
    system.grab(packet, "ann")
    system.settle()
    # The key expires, as the original's did: with all that was left.
    system.memory.caches.clear()
    system.pass_time(LIFE_MS)

    system.expire()

    assert system.balance_fen("ann") + system.balance_fen("sender") == packet.terms.total_fen
    assert system.differences(bound_ms=0) == []


@pytest.mark.parametrize("split", list(Split))
def test_a_random_range_that_throws(split: Split) -> None:
    for count in (1, 2, 3, 10, 100):
        for total_fen in (count, 2 * count, 3 * count):
            for seed in range(50):
                terms = some_terms(total_fen, count, split=split, seed=seed.to_bytes(16))
                amounts = amounts_fen(terms)
                assert sum(amounts) == total_fen
                assert min(amounts) >= 1


def _campaign(system: InMemorySystem) -> Campaign:
    campaign = a_campaign(quota_per_user=1, ends_at_ms=system.clock.now_ms() + 10 * LIFE_MS)
    assert system.campaigns.create(campaign)
    return campaign


def test_the_users_counter_consumed_before_the_sold_out_check(system: InMemorySystem) -> None:
    campaign = _campaign(system)
    rules = Rules(campaign_id=campaign.campaign_id)
    emptied, open_yet = (system.send(count=1, rules=rules, campaign=campaign) for _ in range(2))
    system.grab(emptied, "bob")

    with pytest.raises(PacketEmptied):
        system.grab(emptied, "ann")

    assert system.claims.count_claims(campaign.campaign_id, "ann") == 0
    assert system.grab(open_yet, "ann").is_new


def test_a_task_popped_and_then_lost(system: InMemorySystem) -> None:
    claim = system.grab(system.send(), "ann")
    # The worker has taken it from the queue, and dies.
    system.queue.take_all()
    assert system.balance_fen("ann") == 0

    system.pass_time(60_001)
    system.repair()
    system.settle()

    assert system.balance_fen("ann") == claim.share.amount_fen


SCRIPTS = sorted(path.stem for path in LUA_FOLDER.glob("*.lua"))


@pytest.mark.parametrize("name", SCRIPTS)
def test_user_ids_among_keys(name: str) -> None:
    header = (LUA_FOLDER / f"{name}.lua").read_text().partition("]]")[0]

    for line in re.findall(r"^KEYS\[\d+\].*$", header, re.MULTILINE):
        # A key of ours by name and type; a user is an argument.
        assert re.search(r"  (HASH|ZSET|STRING)  .* rp:\S*\{.+\}", line), line


@pytest.mark.parametrize("name", SCRIPTS)
def test_keys_built_inside_the_script(name: str) -> None:
    script = read_script(name)
    declared = set(re.findall(r"^local (\w+_key) = KEYS\[\d+\]$", script, re.MULTILINE))

    called = re.findall(r"redis\.call\('(\w+)'(?:, ([^,)]+))?", script)

    assert declared
    assert {key for command, key in called if command != "TIME"} <= declared
    # Whether a server tells of its life is up to the server; nothing else may fail quietly.
    assert set(re.findall(r"redis\.pcall\('(\w+)'", script)) <= {"INFO"}


def test_a_stock_reload_that_overwrites(cache: OperatorCache) -> None:
    claim_cache, packet = RedisClaims(cache), _packet(3)
    claim_cache.load(packet, [])
    for user in ("ann", "bob"):
        claim_cache.grab(packet.packet_id, user)

    claim_cache.load(packet, [])

    assert claim_cache.grab(packet.packet_id, "ann").share_no == 1
    assert claim_cache.grab(packet.packet_id, "cat").share_no == 3
    assert claim_cache.grab(packet.packet_id, "dan").status == "packet_emptied"
