"""What claims take of the cache's memory, in a large packet and in small ones.

make bench-memory

Bytes depend on the server and its allocator, and not on a busy machine: one round is enough.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

import redis

from bench.originals import originals
from bench.rounds import PIPELINE, Call, loaded, of_new_users, script_call
from redpacket.adapters.redis.scripts import read_script
from testing.servers import Server, some_servers

CLAIMS = 100_000
PACKETS = 1_000
SMALL = 10
UUIDS = "{:08d}-2f0c-4b1e-9c55-0242ac120002"


def main() -> None:
    """Measure, and print; the last line is JSON."""
    with some_servers() as start:
        server = start()
        info = server.info("server") | server.info("memory")
        version = info.get("valkey_version", info["redis_version"])
        print(f"{info.get('server_name', 'redis')} {version}, {info['mem_allocator']}")
        figures = {name: round(bytes_each, 1) for name, bytes_each in _figures(server)}
    for name, bytes_each in figures.items():
        print(f"{name:24} {bytes_each:6}")
    print(json.dumps(figures))


def _figures(server: Server) -> Iterator[tuple[str, float]]:
    client = server.admin
    grab = script_call(client, read_script("packet_grab"), 1)

    def claim_all(ids: str) -> None:
        _send(client, of_new_users(*grab, loaded(client, CLAIMS), ids=ids), CLAIMS)

    yield "bytes_per_claim", _grown(server, lambda: claim_all("user-{:08d}")) / CLAIMS
    yield "bytes_per_claim_uuid", _grown(server, lambda: claim_all(UUIDS)) / CLAIMS
    seeds = originals(client, CLAIMS)
    for name in ("seed003", "seed001"):
        claim_seed = lambda: _send(client, next(seeds).next_call, CLAIMS)  # noqa: E731
        yield f"bytes_per_claim_{name}", _grown(server, claim_seed) / CLAIMS

    keys: list[str] = []
    grown = _grown(server, lambda: keys.extend(loaded(client, SMALL) for _ in range(PACKETS)))
    yield f"bytes_loaded_{SMALL}", _usage(client, keys[0])
    yield f"grown_loaded_{SMALL}", grown / PACKETS
    for name, ids in (("emptied", "user-{:08d}"), ("emptied_uuid", UUIDS)):
        key = loaded(client, SMALL)
        _send(client, of_new_users(*grab, key, ids=ids), SMALL)
        yield f"bytes_{name}_{SMALL}", _usage(client, key)


def _grown(server: Server, work: Callable[[], object]) -> int:
    before = int(server.info("memory")["used_memory"])
    work()
    return int(server.info("memory")["used_memory"]) - before


def _usage(client: redis.Redis, key: str) -> int:
    return int(client.memory_usage(key, samples=0))  # type: ignore[arg-type]


def _send(client: redis.Redis, next_call: Callable[[], Call], calls: int) -> None:
    for sent in range(0, calls, PIPELINE):
        pipeline = client.pipeline(transaction=False)
        for _ in range(min(PIPELINE, calls - sent)):
            pipeline.execute_command(*next_call())  # type: ignore[no-untyped-call]
        assert all(pipeline.execute())


if __name__ == "__main__":
    main()
