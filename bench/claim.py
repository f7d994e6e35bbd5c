"""Cost of a claim in the cache for winners, for repeated grabs, and for late users.

An empty script has the speed 1.00. The two scripts of `bench/originals.py` resemble those of many
red-packet systems: both store amounts as text in a list, and check less than ours. The bench also
measures whole claims without pipelining. The production adapter grabs from an open packet and from
an emptied one, and the baseline script answers a winner and a loser.
"""

from collections.abc import Callable, Iterator
from statistics import median

from bench.originals import baseline, originals
from bench.rounds import (
    CALLS,
    ROUNDS,
    Contender,
    always,
    loaded,
    of_new_users,
    packet_id_of,
    production_client,
    ratio,
    script_call,
    server_costs_us,
    speeds,
    the_limit,
    whole_costs_us,
)
from local.seed_keys import PUBLISHED_SEEDS
from redpacket.packets.model.claim import GrabStatus
from redpacket.packets.redis.shards import STATE, RedisShards
from redpacket.platform.redis.connect import read_script
from testing.platform.servers import OperatorCache, Server, some_servers

WHOLE_CALLS = 2_000
SHARES = 10
"""Number of shares in the emptied packet."""


def measure() -> dict[str, float]:
    """Return the figures of this bench."""
    with some_servers() as start:
        server = start()
        client = server.admin
        seeds = originals(client, ROUNDS * CALLS)
        costs_us = server_costs_us(server, [the_limit(client), *_ours(client), *seeds])
        whole_us = whole_costs_us(server, _whole(server), calls=WHOLE_CALLS)
    both = zip(costs_us["ask"], costs_us["win"], strict=True)
    costs_us["ask_and_win"] = [sum(costs) for costs in both]
    return {
        **speeds(costs_us),
        "win_over_baseline": ratio(costs_us, "win", "baseline"),
        **{f"{name}_us": round(median(spent_us), 1) for name, spent_us in whole_us.items()},
        "whole_win_over_baseline": ratio(whole_us, "whole_win", "whole_win_baseline"),
        "whole_lose_over_baseline": ratio(whole_us, "whole_lose", "whole_lose_baseline"),
    }


def _ours(client: OperatorCache) -> Iterator[Contender]:
    grab = script_call(client, read_script("packet_grab"), 1)
    open_key, key = loaded(client, 1_000_000), loaded(client, SHARES)
    yield Contender("ask", of_new_users("HMGET", open_key, STATE), "['O")
    yield Contender("win", of_new_users(*grab, open_key), "claimed")
    for number in range(1, SHARES + 1):
        client.execute_command(*grab, key, f"taker-{number:08d}")  # type: ignore[no-untyped-call]
    yield Contender("sold_out", of_new_users("HMGET", key, STATE), "['E")
    yield Contender("repeat", always("HMGET", key, STATE, f"taker-{SHARES:08d}"), "['E")


def _whole(server: Server) -> dict[str, Callable[[str], object]]:
    client = production_client(server.port)
    claim_cache = RedisShards(client, PUBLISHED_SEEDS)
    open_id, emptied_id = (packet_id_of(loaded(client, count)) for count in (1_000_000, SHARES))
    for number in range(SHARES):
        assert claim_cache.grab(emptied_id, f"taker-{number}").share_no
    script = script_call(server.admin, read_script("packet_grab"), 1)
    open_key = loaded(client, 1_000_000)
    left = baseline(server.admin, "whole", ROUNDS * WHOLE_CALLS)
    gone = baseline(server.admin, "gone", 1)
    assert client.ask(*gone, "taker")

    def win(user_id: str) -> None:
        assert claim_cache.grab(open_id, user_id).share_no

    def lose(user_id: str) -> None:
        assert claim_cache.grab(emptied_id, user_id).status is GrabStatus.PACKET_EMPTIED

    def win_baseline(user_id: str) -> None:
        assert client.ask(*left, user_id)

    def lose_baseline(user_id: str) -> None:
        assert client.ask(*gone, user_id) is None

    return {
        "whole_win": win,
        "whole_script": lambda user_id: client.ask(*script, open_key, user_id),
        "whole_win_baseline": win_baseline,
        "whole_lose": lose,
        "whole_lose_baseline": lose_baseline,
    }
