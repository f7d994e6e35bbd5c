"""Cache memory per claim of a large packet, and of a small packet.

One round is enough, because the load of the machine does not affect memory.
"""

from collections.abc import Iterator

from bench.originals import originals
from bench.rounds import Contender, loaded, of_new_users, script_call, send
from redpacket.platform.redis.connect import read_script
from testing.platform.servers import some_servers

CLAIMS = 100_000
UUIDS = "{:08d}-2f0c-4b1e-9c55-0242ac120002"


def measure() -> dict[str, float]:
    """Return the figures of this bench."""
    with some_servers() as start:
        server = start()
        client = server.admin
        grab = script_call(client, read_script("packet_grab"), 1)

        def ours(ids: str) -> Iterator[Contender]:
            yield Contender("ours", of_new_users(*grab, loaded(client, CLAIMS), ids=ids), "claimed")

        def used() -> int:
            return int(server.info("memory")["used_memory"])

        def bytes_each(contenders: Iterator[Contender]) -> float:
            before = used()
            contender = next(contenders)  # This loads the contender's shares.
            send(client, contender.next_call, CLAIMS, contender.expected)
            return round((used() - before) / CLAIMS, 1)

        seeds = originals(client, CLAIMS)
        return {
            "bytes_per_claim": bytes_each(ours("user-{:08d}")),
            "bytes_per_claim_uuid": bytes_each(ours(UUIDS)),
            "bytes_per_claim_baseline": bytes_each(seeds),
            "bytes_per_claim_baseline_b": bytes_each(seeds),
            "bytes_loaded_10": int(client.memory_usage(loaded(client, 10), samples=0)),  # type: ignore[arg-type]
        }
