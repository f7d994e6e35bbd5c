"""What a draw costs the cache: losing and winning ones of small and large tables.

make bench-draw

Counted in the server's CPU, against an empty script of the same round (1.00), so that neither the
client nor a busy machine matters much; medians of interleaved rounds.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count
from statistics import median

import redis

from redpacket.adapters import keys
from redpacket.adapters.redis_draws import RedisDraws
from redpacket.adapters.scripts import read_script
from redpacket.domain.lottery import POINT_BITS, DrawDay, DrawTable, Prize, PrizeKind
from tests.builders import a_campaign
from tests.faults.servers import Server, some_servers

ROUNDS = 9
CALLS = 4_000
PIPELINE = 200
HOUR_MS = 3_600_000
DAY = "20270129"
TABLES = (10, 100)

# In tables where prizes and the miss have a half each, the first point misses, the second one wins
# the prize in the middle.
POINTS = {"lose": 2**POINT_BITS - 1, "win": 2**POINT_BITS // 4}

Call = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Contender:
    """What is measured, and how to say it to the server."""

    name: str
    next_call: Callable[[], Call]


def main() -> None:
    """Measure, and print; the last line is JSON."""
    with some_servers() as start:
        server = start()
        contenders = [_empty(server.admin), *_draws(server.admin)]
        costs_us = _costs_us(server, contenders)
    limit_us = costs_us.pop("limit")
    ratios = {
        name: round(median(limit / cost for limit, cost in zip(limit_us, costs, strict=True)), 3)
        for name, costs in costs_us.items()
    }
    for name, costs in costs_us.items():
        print(f"{name:8}  {median(costs):6.2f} us of server CPU  {ratios[name]:.3f} of the limit")
    print(json.dumps({"limit_rps": round(1e6 / median(limit_us)), **ratios}))


def _costs_us(server: Server, contenders: list[Contender]) -> dict[str, list[float]]:
    costs: dict[str, list[float]] = {contender.name: [] for contender in contenders}
    for _ in range(ROUNDS):
        for contender in contenders:
            before_s = _cpu_s(server)
            for _ in range(0, CALLS, PIPELINE):
                pipeline = server.admin.pipeline(transaction=False)
                for _ in range(PIPELINE):
                    pipeline.execute_command("EVALSHA", *contender.next_call())  # type: ignore[no-untyped-call]
                answers = set(map(_outcome, pipeline.execute()))
                assert answers == {_outcome(contender.name)}, answers
            costs[contender.name].append((_cpu_s(server) - before_s) / CALLS * 1e6)
    return costs


def _outcome(text: object) -> str:
    """Return "won" or "missed" of an answer, and of a contender's name; "0" is the empty script."""
    words = {"win": "won", "lose": "missed", "limit": "0"}
    first = str(text).partition(" ")[0]
    return words.get(first.partition("_")[0], first)


def _cpu_s(server: Server) -> float:
    spent = server.info("cpu")
    return float(spent["used_cpu_user"]) + float(spent["used_cpu_sys"])


def _empty(client: redis.Redis) -> Contender:
    sha = str(client.script_load("#!lua\nreturn 0"))
    return Contender("limit", lambda: (sha, 0))


def _draws(client: redis.Redis) -> Iterator[Contender]:
    sha = str(client.script_load(read_script("draw_prize")))
    now_ms = int(time.time() * 1000)
    day = DrawDay(DAY, now_ms - HOUR_MS, now_ms + HOUR_MS)
    for size in TABLES:
        for name, point in POINTS.items():
            campaign_id = f"{name}-{size}"
            _load(client, campaign_id, size, day)
            script_keys = (
                keys.draw_board(campaign_id),
                keys.draw_day(campaign_id, DAY),
                keys.draw_winners(campaign_id),
            )
            yield Contender(f"{name}_{size}", _next_draw(sha, script_keys, point, day))


def _next_draw(sha: str, script_keys: Call, point: int, day: DrawDay) -> Callable[[], Call]:
    numbers = count(1)

    def next_call() -> Call:
        # Everybody draws once, with names as long as real ones.
        number = next(numbers)
        who = f"user-{number:08d}", f"{number:032x}"
        return (sha, 3, *script_keys, *who, point, day.starts_at_ms, day.ends_at_ms)

    return next_call


def _load(client: redis.Redis, campaign_id: str, size: int, day: DrawDay) -> None:
    campaign = a_campaign(
        campaign_id=campaign_id,
        starts_at_ms=day.starts_at_ms,
        ends_at_ms=day.ends_at_ms,
        miss_weight=10 * size,
    )
    prizes = tuple(
        Prize(campaign_id, f"prize-{number:03d}", "奖品", PrizeKind.GOODS, 10, 1_000_000)
        for number in range(size)
    )
    RedisDraws(client).load(DrawTable(campaign, prizes, 1), day, [])


if __name__ == "__main__":
    main()
