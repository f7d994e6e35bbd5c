"""How much faster a hot packet is in parts: on a cluster of three, against a packet in one piece.

make bench-hot

Capacity is counted in CPU of the busiest node, which is what ends a node's day, so that neither the
client nor a busy machine matters much; medians of interleaved rounds, each with packets of its own.
Then a smaller packet is emptied by a crowd through the real claim cache and the cluster's client.
"""

from __future__ import annotations

import itertools
import json
import random
import time
from collections import Counter, defaultdict
from functools import partial
from statistics import median

from redis.crc import key_slot

from bench.rounds import Call, cpu_s, interleaved, ratio, spread
from local.ports import HOST
from redpacket.adapters.redis import keys
from redpacket.adapters.redis.claims import RedisClaims
from redpacket.adapters.redis.cluster import ClusterClient, connect_cluster
from redpacket.adapters.redis.parted_claims import PartedClaims
from redpacket.adapters.redis.scripts import read_script
from redpacket.domain.claim import GrabOutcome, GrabStatus
from redpacket.domain.packet import (
    Packet,
    is_cut,
    part_count,
    part_id,
    part_of_user,
    parts_for,
)
from redpacket.ports.packets import ClaimCache
from testing.builders import a_packet, a_packet_id
from testing.cluster import Cluster
from testing.fakes import FakeClaimCache, FakeClock
from testing.servers import CACHE_TIMEOUT_S, Server, some_servers
from testing.wall_clock import WallClock

NODES = 3
SHARES, PART_SHARES = 1_000_000, 20_000
ROUNDS = 7
CLAIMS = 12_000
PIPELINE = 200

EMPTIED_SHARES, EMPTIED_PARTS = 6_000, 50
CROWD = 24_000
PROCESSES = 4
UNCUT_CALLS = 200_000


def main() -> None:
    """Measure, and print; the last line is JSON."""
    with some_servers() as start:
        cluster = Cluster(start, holders=NODES)
        client = _client(cluster)
        claim_cache = RedisClaims(client)
        costs = interleaved(
            {
                "one_part": partial(_busiest_us, cluster, claim_cache, SHARES),
                "parts": partial(_busiest_us, cluster, claim_cache, PART_SHARES),
            },
            ROUNDS,
        )
        for name, costs_us in costs.items():
            print(f"{name:10} {spread(costs_us)} us of the busiest node's CPU for a claim")
        emptied = _emptied(client)
    for name, value in emptied.items():
        print(f"{name:16} {value}")
    uncut_us = _uncut_us()
    print(f"what a packet that isn't cut pays for the others: {uncut_us:.2f} us a grab, no call")
    print(
        json.dumps(
            {
                "nodes": NODES,
                "one_part_rps": round(1e6 / median(costs["one_part"])),
                "parts_rps": round(1e6 / median(costs["parts"])),
                "ratio": ratio(costs, "parts", "one_part"),
                "parts": -(-SHARES // PART_SHARES),
                **emptied,
                "uncut_us": round(uncut_us, 3),
            }
        )
    )


def _client(cluster: Cluster) -> ClusterClient:
    port = cluster.servers[0].port
    return connect_cluster(
        HOST, port, has_tls=False, username="", password="", timeout_s=4 * CACHE_TIMEOUT_S
    )


def _loaded(claim_cache: PartedClaims, count: int, part_share_count: int) -> Packet:
    now_ms = int(time.time() * 1000)
    packet_id = a_packet_id(parts_for(count, part_share_count))
    packet = a_packet(
        100 * count,
        count,
        packet_id=packet_id,
        created_at_ms=now_ms - 1000,
        expires_at_ms=now_ms + 3_600_000,
    )
    claim_cache.load(packet, [])
    return packet


def _busiest_us(cluster: Cluster, claim_cache: RedisClaims, part_share_count: int) -> float:
    """Claim from a new packet as winners do; return the busiest node's CPU per claim."""
    packet = _loaded(PartedClaims(claim_cache, clock=WallClock()), SHARES, part_share_count)
    calls: dict[Server, list[Call]] = defaultdict(list)
    sha = {s: str(s.admin.script_load(read_script("packet_grab"))) for s in cluster.servers}
    for number in range(CLAIMS):
        user_id = f"user-{number:08d}"
        cache_id = packet.packet_id
        if is_cut(cache_id):
            cache_id = part_id(cache_id, part_of_user(cache_id, user_id))
        key = keys.claim_cache(cache_id)
        node = cluster.owner(key_slot(key.encode()))
        calls[node] += [("HMGET", key, "#", user_id), ("EVALSHA", sha[node], 1, key, user_id)]
    before_s = {server: cpu_s(server) for server in cluster.servers}
    for server, theirs in calls.items():
        for start in range(0, len(theirs), PIPELINE):
            _send(server, theirs[start : start + PIPELINE])
    return max(cpu_s(server) - before_s[server] for server in cluster.servers) / CLAIMS * 1e6


def _send(server: Server, calls: list[Call]) -> None:
    pipeline = server.admin.pipeline(transaction=False)
    for call in calls:
        pipeline.execute_command(*call)  # type: ignore[no-untyped-call]
    answers = pipeline.execute()
    assert all(str(answer).startswith("claimed ") for answer in answers[1::2]), answers[1]


class _Counted(RedisClaims):
    """A claim cache that counts how often it is asked for a share."""

    count = 0

    def grab(self, packet_id: str, user_id: str) -> GrabOutcome:
        self.count += 1
        return super().grab(packet_id, user_id)


def _emptied(client: ClusterClient) -> dict[str, int | float | bool]:
    """Let a crowd empty a packet, some of it twice; return who won, and what losers cost."""
    counted = _Counted(client)
    caches = [PartedClaims(counted, clock=WallClock()) for _ in range(PROCESSES)]
    packet = _loaded(caches[0], EMPTIED_SHARES, EMPTIED_SHARES // EMPTIED_PARTS)
    assert part_count(packet.packet_id) == EMPTIED_PARTS
    processes = itertools.cycle(caches)
    told: dict[str, int] = {}
    is_exact = True
    crowd = [f"user-{number}" for number in range(CROWD)]
    for user_id in [*crowd, *random.sample(crowd, CROWD // 4)]:
        outcome = next(processes).grab(packet.packet_id, user_id)
        if outcome.share_no is not None:
            is_exact &= told.setdefault(user_id, outcome.share_no) == outcome.share_no
    times = Counter(told.values())
    is_exact &= set(times) == set(range(1, EMPTIED_SHARES + 1)) and max(times.values()) == 1
    losers = [user_id for user_id in crowd if user_id not in told]
    counted.count = 0
    began_at = time.monotonic()
    for user_id in losers:
        is_exact &= next(processes).grab(packet.packet_id, user_id).share_no is None
    losers_per_s = len(losers) / (time.monotonic() - began_at)
    return {
        "winners": len(told),
        "exact": is_exact,
        "reads_per_loser": round(counted.count / len(losers), 3),
        "losers_per_s": round(losers_per_s),
    }


class _Instant(FakeClaimCache):
    """A claim cache that answers at once."""

    def grab(self, *_: str) -> GrabOutcome:
        return EMPTIED


EMPTIED = GrabOutcome(GrabStatus.PACKET_EMPTIED)


def _uncut_us() -> float:
    """Return the cost of the parted claim cache for a packet without parts."""
    instant = _Instant(FakeClock())
    parted = PartedClaims(instant, clock=FakeClock())

    def run(claim_cache: ClaimCache) -> float:
        began_at = time.perf_counter()
        for _ in range(UNCUT_CALLS):
            claim_cache.grab("AbCdEfGhIjKlMnOpQrStUv", "ann")
        return (time.perf_counter() - began_at) / UNCUT_CALLS * 1e6

    times_us = interleaved({"direct": partial(run, instant), "parted": partial(run, parted)})
    return median(times_us["parted"]) - median(times_us["direct"])


if __name__ == "__main__":
    main()
