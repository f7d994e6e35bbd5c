"""Cost of a claim for each packet size.

The cost is the server's CPU time for the second half of a packet's claims. The first half is
claimed beforehand.
"""

from collections.abc import Iterator
from functools import partial
from statistics import median

from bench.rounds import CALLS, ROUNDS, Call, Contender, loaded, script_call, server_costs_us
from redpacket.platform.redis.connect import read_script
from testing.platform.servers import OperatorCache, some_servers

SIZES = (10_000, 100_000, 1_000_000)
FIELDS_PER_CALL = 1_000


def measure() -> dict[str, float]:
    """Return the figures of this bench."""
    with some_servers() as start:
        server = start()
        costs_us = server_costs_us(server, [_claims(server.admin, size) for size in SIZES])
    small, *_, large = (costs_us[str(size)] for size in SIZES)
    growth = median(after / before for before, after in zip(small, large, strict=True))
    in_us = {size: round(median(spent_us), 2) for size, spent_us in costs_us.items()}
    return {**in_us, "growth": round(growth, 3)}


def _claims(client: OperatorCache, size: int) -> Contender:
    packets = [_half_claimed(client, size) for _ in range(0, ROUNDS * CALLS, size // 2)]
    grab = script_call(client, read_script("packet_grab"), 1)
    return Contender(str(size), partial(next, _calls(grab, packets, size)), "claimed")


def _calls(grab: Call, packets: list[str], size: int) -> Iterator[Call]:
    for key in packets:
        for number in range(size // 2, size):
            yield (*grab, key, f"user-{number:08d}")


def _half_claimed(client: OperatorCache, size: int) -> str:
    key = loaded(client, size)
    for start in range(0, size // 2, FIELDS_PER_CALL):
        numbers = range(start, min(start + FIELDS_PER_CALL, size // 2))
        client.hset(key, mapping={f"user-{number:08d}": number + 1 for number in numbers})
    return key
