"""Cost of a draw in the cache: losing and winning draws of small and large lotteries.

The figures compare the server's CPU time with that of an empty script in the same round (1.00), so
neither the client nor a busy machine matters much. They are medians of interleaved rounds.
"""

import time
from collections.abc import Callable, Iterator
from itertools import count

from bench.rounds import DAY_MS, Call, Contender, script_call, server_costs_us, speeds, the_limit
from redpacket.fairness.model.days import DrawDay
from redpacket.lottery.model.lottery import CampaignSnapshot, Prize, PrizeKind
from redpacket.lottery.model.odds import POINT_BITS
from redpacket.lottery.redis import keys
from redpacket.lottery.redis.draws import RedisDraws
from redpacket.platform.redis.connect import read_script
from testing.builders import a_campaign
from testing.platform.servers import OperatorCache, some_servers

DAY = "20270129"
TABLES = (10, 100)

# All prizes together have half of the weight, and the miss has the other half.
# So the first point misses, and the second point wins the prize in the middle.
POINTS = {"lose": (2**POINT_BITS - 1, "missed"), "win": (2**POINT_BITS // 4, "won")}


def measure() -> dict[str, float]:
    """Return the figures of this bench."""
    with some_servers() as start:
        server = start()
        return speeds(server_costs_us(server, [the_limit(server.admin), *_draws(server.admin)]))


def _draws(client: OperatorCache) -> Iterator[Contender]:
    source = read_script("draw_prize")
    now_ms = int(time.time() * 1000)
    day = DrawDay(DAY, now_ms - DAY_MS, now_ms + DAY_MS)
    for size in TABLES:
        for name, (point, expected) in POINTS.items():
            campaign_id = f"{name}-{size}"
            _load(client, campaign_id, size, day)
            script_keys = (
                keys.draw_cache(campaign_id),
                keys.draw_day(campaign_id, DAY),
                keys.draw_winners(campaign_id),
            )
            call = script_call(client, source, len(script_keys), *script_keys)
            yield Contender(f"{name}_{size}", _next_draw(call, point, day), expected)


def _next_draw(call: Call, point: int, day: DrawDay) -> Callable[[], Call]:
    numbers = count(1)

    def next_call() -> Call:
        # Every user draws once, with ids of realistic length.
        number = next(numbers)
        who = f"user-{number:08d}", f"{number:032x}"
        return (*call, *who, point, day.starts_at_ms, day.ends_at_ms)

    return next_call


def _load(client: OperatorCache, campaign_id: str, size: int, day: DrawDay) -> None:
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
    RedisDraws(client).load(CampaignSnapshot(campaign, prizes, 1), day, [])
