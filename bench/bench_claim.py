"""What a claim costs the cache: winners, those who ask again, and the crowd that comes too late.

make bench-claim

Against an empty script (1.00), and against two scripts of the kind that red packets often run on,
rewritten from their description: both keep amounts as text in a list, and answer less.

Then whole claims, unpipelined: the adapter as production uses it asks the cache for a packet in a
rush and for an emptied one, and the usual script (003) answers its winner and its loser.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from statistics import median

from bench.originals import originals, seed_003
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
    spread,
    the_limit,
    whole_costs_us,
)
from local.ports import HOST
from redpacket.adapters.redis.claims import STATE, RedisClaims
from redpacket.adapters.redis.connect import connect
from redpacket.adapters.redis.scripts import read_script
from redpacket.domain.claim import GrabStatus
from testing.servers import CACHE_TIMEOUT_S, OperatorCache, Server, some_servers

WHOLE_CALLS = 2_000

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
        whole_us = whole_costs_us(server, _whole(server), calls=WHOLE_CALLS)
    both = zip(costs_us["ask"], costs_us["win"], strict=True)
    costs_us["ask_and_win"] = [sum(costs) for costs in both]
    report_costs(costs_us)
    for name, spent_us in whole_us.items():
        print(f"{name:24} {spread(spent_us)} us of the server's CPU, one request at a time")
    ratios = {name: ratio(costs_us, name, "limit") for name in costs_us if name != "limit"}
    figures = {
        "limit_rps": round(1e6 / median(costs_us["limit"])),
        **ratios,
        "sold_out": ratios[f"sold_out_{SIZES[0]}"],
        "repeat": ratios[f"repeat_{SIZES[0]}"],
        "win_over_seed003": ratio(costs_us, "win", "seed003"),
        **{f"{name}_us": round(median(spent_us), 1) for name, spent_us in whole_us.items()},
        "whole_win_over_003": ratio(whole_us, "whole_win", "whole_win_003"),
        "whole_lose_over_003": ratio(whole_us, "whole_lose", "whole_lose_003"),
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


def _whole(server: Server) -> dict[str, Callable[[str], object]]:
    client = connect(
        HOST, server.port, has_tls=False, username="", password="", timeout_s=CACHE_TIMEOUT_S
    )
    claim_cache = RedisClaims(client)
    open_id, emptied_id = (_packet_id(loaded(client, count)) for count in (1_000_000, SIZES[0]))
    for number in range(SIZES[0]):
        assert claim_cache.grab(emptied_id, f"taker-{number}").share_no
    script = script_call(server.admin, read_script("packet_grab"), 1)
    open_key = loaded(client, 1_000_000)
    left = seed_003(server.admin, "whole", ROUNDS * WHOLE_CALLS)
    gone = seed_003(server.admin, "gone", 1)
    assert client.ask(*gone, "taker")

    def win(user_id: str) -> None:
        assert claim_cache.grab(open_id, user_id).share_no

    def lose(user_id: str) -> None:
        assert claim_cache.grab(emptied_id, user_id).status is GrabStatus.PACKET_EMPTIED

    def win_003(user_id: str) -> None:
        assert client.ask(*left, user_id)

    def lose_003(user_id: str) -> None:
        assert client.ask(*gone, user_id) is None

    return {
        "whole_win": win,
        "whole_script": lambda user_id: client.ask(*script, open_key, user_id),
        "whole_win_003": win_003,
        "whole_lose": lose,
        "whole_lose_003": lose_003,
    }


def _packet_id(key: str) -> str:
    return key.partition("{")[2].removesuffix("}")


if __name__ == "__main__":
    main()
