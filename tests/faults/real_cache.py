"""Suites with one cache, which fails over, freezes, loses data, or is full during a rush."""

import random
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

from redis import OutOfMemoryError

from local.ports import HOST
from local.seed_keys import PUBLISHED_SEEDS
from redpacket.packets.redis import keys
from redpacket.packets.redis.shards import RedisShards
from testing.platform.servers import Address, Server, some_servers, wait_for
from tests.faults.figures import Figures
from tests.faults.rush import Crowd, NaiveClaimCache, RealTimeSystem, close_quietly

KILL_AFTER_MS = (50, 200, 1_000)
"""Milliseconds between the replica's promotion and the primary's end; claims that the primary
takes in between are lost.
"""

LAG_BYTES_MAX = 20_000
"""Maximum lag of the replica in bytes when it is promoted, so that few earlier writes are lost."""

REPAIRS = {"share_collision", "share_given_back"}
"""Events for shares that the cache assigned wrongly and the ledger corrected."""

Harm = Callable[[Crowd, Figures], None]


def failover(figures: Figures, *, is_quick: bool) -> None:
    """Promote the replica, kill the primary a little later, and redirect clients."""
    real = KILL_AFTER_MS[:2] if is_quick else KILL_AFTER_MS * 10
    naive = KILL_AFTER_MS[1:2] if is_quick else KILL_AFTER_MS
    with some_servers() as start, ThreadPoolExecutor(1) as pool:
        # A replica takes a second to connect, so the next pair connects meanwhile.
        ahead = pool.submit(_a_pair, start)
        for number, delay_ms in enumerate((*real, *naive)):
            pair = ahead.result()
            ahead = pool.submit(_a_pair, start)
            # Every other failover has many small packets, so that the lost claims include last
            # shares.
            sizes = ((20, 200), (120, 20))[number % 2]
            _fail_over(figures, *pair, delay_ms, sizes, is_naive=number >= len(real))


def _a_pair(start: Callable[..., Server]) -> tuple[Server, Server]:
    primary, replica = start(repl_diskless_sync="no"), start()
    replica.admin.replicaof(HOST, str(primary.port))
    wait_for(lambda: replica.info("replication")["master_link_status"] == "up", "replication")
    return primary, replica


def _fail_over(
    figures: Figures,
    primary: Server,
    replica: Server,
    delay_ms: int,
    sizes: tuple[int, int],
    *,
    is_naive: bool,
) -> None:
    address = Address(primary)

    def harm(crowd: Crowd, figures: Figures) -> None:
        crowd.wait_for_claims(100)
        wait_for(lambda: _lag(primary, replica) < LAG_BYTES_MAX, "the replica's catching up")
        replica.admin.replicaof("NO", "ONE")
        time.sleep(delay_ms / 1000)
        address.server = replica
        primary.kill()
        note_recovery(crowd, figures, time.monotonic())
        crowd.wait_for_claims(200)

    _rush(figures, address, harm, sizes, is_naive=is_naive)
    replica.kill()


def _lag(primary: Server, replica: Server) -> int:
    written = int(primary.info("replication")["master_repl_offset"])
    return written - int(replica.info("replication")["master_repl_offset"])


def freeze(figures: Figures, *, is_quick: bool) -> None:
    """Stop the server, usually for less than a client's timeout, and resume it."""
    for _ in range(1 if is_quick else 10):
        _with_one_server(figures, _freezing(6 if is_quick else 10), is_naive=False)
    _with_one_server(figures, _freezing(2), is_naive=True)


def _freezing(times: int) -> Callable[[Server], Harm]:
    def of(server: Server) -> Harm:
        def harm(crowd: Crowd, figures: Figures) -> None:
            for number in range(times):
                crowd.wait_for_claims(20)
                # A client times out after 2 x 0.5 s; a few of the freezes are longer.
                long = number % 5 == 2
                server.freeze()
                time.sleep(random.uniform(1.1, 1.3) if long else random.uniform(0.02, 0.3))
                server.thaw()
                note_recovery(crowd, figures, time.monotonic())
            if times > 2 and not crowd.causes:
                crowd.wrong.append("no freeze was long enough to be felt")

        return harm

    return of


def flush(figures: Figures, *, is_quick: bool) -> None:
    """Delete all data, or all scripts."""
    for _ in range(1 if is_quick else 4):
        _with_one_server(figures, _flushing(4 if is_quick else 10), is_naive=False)
    _with_one_server(figures, _flushing(4), is_naive=True)


def _flushing(times: int) -> Callable[[Server], Harm]:
    def of(server: Server) -> Harm:
        def harm(crowd: Crowd, figures: Figures) -> None:
            for number in range(times):
                crowd.wait_for_claims(60)
                if number % 2:
                    server.admin.script_flush()
                else:
                    server.admin.flushall()
                note_recovery(crowd, figures, time.monotonic(), limit_ms=5_000)

        return harm

    return of


def eviction(figures: Figures, *, is_quick: bool) -> None:
    """Delete single keys, evict keys under a forbidden policy, and fill the cache."""
    rounds = 1 if is_quick else 3
    for _ in range(rounds):
        _with_one_server(figures, _forgetting(10), is_naive=False)
        _with_one_server(figures, _evicting, is_naive=False, maxmemory_policy="allkeys-random")
        _with_one_server(figures, _filling, is_naive=False, maxmemory_policy="noeviction")
    _with_one_server(figures, _forgetting(10), is_naive=True)


def _forgetting(times: int) -> Callable[[Server], Harm]:
    def of(server: Server) -> Harm:
        def harm(crowd: Crowd, figures: Figures) -> None:
            for _ in range(times):
                crowd.wait_for_claims(20)
                keys = list(server.admin.scan_iter(count=1_000))
                server.admin.delete(*random.sample(keys, min(5, len(keys))))
                note_recovery(crowd, figures, time.monotonic())

        return harm

    return of


def _evicting(server: Server) -> Harm:
    def harm(crowd: Crowd, figures: Figures) -> None:
        crowd.wait_for_claims(100)
        used = int(server.info("memory")["used_memory"])
        server.admin.config_set("maxmemory", used + 200_000)
        began_at = time.monotonic()
        missing = _missing(crowd, server)
        evicted = 0
        for number in range(1_000):
            # The clients' buffers may fill the memory when no key can be evicted, which is also a
            # fault.
            with suppress(OutOfMemoryError):
                server.admin.set(f"filler:{number}", "x" * 1_000)
            if number % 10 == 0:
                # Users reload evicted keys within milliseconds, so some evictions are never seen.
                before, missing = missing, _missing(crowd, server)
                evicted += len(missing - before)
        crowd.wait_for_claims(200)
        server.admin.config_set("maxmemory", 0)
        note_recovery(crowd, figures, began_at)
        figures.faults += evicted
        if not evicted:
            crowd.wrong.append("no packet was evicted")

    return harm


def _missing(crowd: Crowd, server: Server) -> set[str]:
    pipeline = server.admin.pipeline(transaction=False)
    for packet in crowd.packets:
        pipeline.exists(keys.claim_cache(packet.packet_id))
    packets = zip(crowd.packets, pipeline.execute(), strict=True)
    return {packet.packet_id for packet, exists in packets if not exists}


def _filling(server: Server) -> Harm:
    def harm(crowd: Crowd, figures: Figures) -> None:
        for _ in range(3):
            crowd.wait_for_claims(50)
            server.admin.config_set("maxmemory", 1)
            # Users who are already past the cache may still get their share.
            time.sleep(0.1)
            before = len(crowd.claims), _handed_out(crowd, server)
            time.sleep(0.2)
            if (len(crowd.claims), _handed_out(crowd, server)) != before:
                crowd.wrong.append("a full server hands out shares")
            server.admin.config_set("maxmemory", 0)
            note_recovery(crowd, figures, time.monotonic())
        if not crowd.causes["OutOfMemoryError"]:
            crowd.wrong.append(f"no call failed on the full server: {crowd.causes}")

    return harm


def _handed_out(crowd: Crowd, server: Server) -> int:
    lengths = [server.admin.hlen(keys.claim_cache(packet.packet_id)) for packet in crowd.packets]
    return sum(int(length) for length in lengths)


def _with_one_server(
    figures: Figures, harm_to: Callable[[Server], Harm], *, is_naive: bool, **options: str
) -> None:
    with some_servers() as start:
        server = start(**options)
        _rush(figures, Address(server), harm_to(server), is_naive=is_naive)


def _rush(
    figures: Figures,
    address: Address,
    harm: Harm,
    sizes: tuple[int, int] = (20, 200),
    *,
    is_naive: bool,
) -> None:
    client, usual = address.client(), address.usual_client()
    try:
        system = RealTimeSystem(RedisShards(client, PUBLISHED_SEEDS))
        packets = system.send_some(*sizes)
        crowd = Crowd(system, packets, NaiveClaimCache(usual) if is_naive else None)
        run_crowd(figures, crowd, harm)
    finally:
        close_quietly(client, usual)


def run_crowd(figures: Figures, crowd: Crowd, harm: Harm) -> None:
    """Let the users grab during *harm*, and record the broken invariants afterwards."""
    # For the control, only its violations are counted.
    own = Figures(figures.suite) if crowd.naive else figures
    with crowd.grabbing():
        harm(crowd, own)
    differences = crowd.differences()
    if crowd.naive:
        figures.naive_violations += len(differences)
        return
    figures.runs += 1
    figures.claims += len(crowd.claims)
    figures.repairs += sum(event in REPAIRS for event in crowd.system.logger.events)
    figures.violations += [str(difference) for difference in differences]


def note_recovery(
    crowd: Crowd, figures: Figures, since: float, limit_ms: int | None = None
) -> None:
    figures.faults += 1
    took_ms = crowd.wait_until_served(since)
    if took_ms is not None:
        figures.recovered_ms.append(took_ms)
        if limit_ms is not None and took_ms > limit_ms:
            crowd.wrong.append(f"no call was served for {took_ms} ms")
