"""What a claim costs the cache: winners, those who ask again, and the crowd that comes too late.

make bench-claim

Against an empty script (1.00), and against two scripts of the kind that red packets often run on,
written anew from their description: both keep amounts as text in a list, and answer less.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from statistics import median

from bench.originals import originals
from bench.rounds import (
    CALLS,
    ROUNDS,
    Contender,
    always,
    loaded,
    of_new_users,
    ratio,
    report_costs,
    script_call,
    server_costs_us,
    the_limit,
)
from redpacket.adapters.redis_claims import STATE
from redpacket.adapters.scripts import read_script
from tests.faults.servers import OperatorCache, some_servers

SIZES = (10, 128, 500, 10_000)
"""Of emptied packets. The first two are packed: to find that a user has no share takes a search."""


def main() -> None:
    """Measure, and print; the last line is JSON."""
    with some_servers() as start:
        server = start()
        contenders = [
            the_limit(server.admin),
            *_ours(server.admin),
            *originals(server.admin, ROUNDS * CALLS),
        ]
        costs_us = server_costs_us(server, contenders)
    both = zip(costs_us["ask"], costs_us["win"], strict=True)
    costs_us["ask_and_win"] = [sum(costs) for costs in both]
    report_costs(costs_us)
    ratios = {name: ratio(costs_us, name, "limit") for name in costs_us if name != "limit"}
    figures = {
        "limit_rps": round(1e6 / median(costs_us["limit"])),
        **ratios,
        "sold_out": ratios[f"sold_out_{SIZES[0]}"],
        "repeat": ratios[f"repeat_{SIZES[0]}"],
        "win_over_seed003": ratio(costs_us, "win", "seed003"),
    }
    print(json.dumps(figures))


def _ours(client: OperatorCache) -> Iterator[Contender]:
    grab = script_call(client, read_script("packet_grab"), 1)
    open_key = loaded(client, 1_000_000)
    yield Contender("ask", of_new_users("HMGET", open_key, STATE), "['O")
    yield Contender("win", of_new_users(*grab, open_key), "claimed")
    for size in SIZES:
        key = loaded(client, size)
        for number in range(1, size + 1):
            client.execute_command(*grab, key, f"taker-{number:08d}")  # type: ignore[no-untyped-call]
        taker = f"taker-{size:08d}"
        yield Contender(f"sold_out_{size}", of_new_users("HMGET", key, STATE), "['E")
        yield Contender(f"repeat_{size}", always("HMGET", key, STATE, taker), "['E")
        yield Contender(f"sold_out_script_{size}", of_new_users(*grab, key), "packet_emptied")
        yield Contender(f"repeat_script_{size}", always(*grab, key, taker), "already_claimed")


if __name__ == "__main__":
    main()
