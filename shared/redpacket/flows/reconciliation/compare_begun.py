"""Compare draws that took rounds of their own with what was fixed of them, and compute them again.

What was fixed stands in a row of its own, put once, before the round was known.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from redpacket.domain.beacon import BeaconRound, CampaignBeacon
from redpacket.domain.checks.facts import Difference
from redpacket.domain.errors import InvariantViolated
from redpacket.domain.lottery import BegunDraw, Draw, draw_point
from redpacket.domain.process_cache import ProcessCache, no_clock
from redpacket.flows.reconciliation.cached_rows import CachedRows
from redpacket.ports.beacon import Rounds
from redpacket.ports.campaigns import Draws
from redpacket.ports.reconciliation import Tables

_AT_ONCE = 100
_SIZE_MAX = 1_000


class BegunComparison:
    """Single draws by their row, their round and the day's seed: I5."""

    def __init__(
        self,
        tables: Tables,
        known: CachedRows,
        draws: Draws,
        rounds: Rounds,
        tell: Callable[[Difference], None],
    ) -> None:
        self._tables = tables
        self._known = known
        self._draws = draws
        self._rounds = rounds
        self._tell = tell
        self._seeds: ProcessCache[tuple[str, str], bytes] = ProcessCache(
            no_clock, size_max=_SIZE_MAX
        )
        self._found: ProcessCache[tuple[str, int], BeaconRound] = ProcessCache(
            no_clock, size_max=_SIZE_MAX
        )

    def check(self, drawn: Sequence[Draw]) -> None:
        """Compare those of some draws whose campaign gives each a round of its own."""
        single = []
        for draw in drawn:
            lottery = self._known.lottery(draw.campaign_id)
            beacon = lottery.campaign.beacon if lottery else None
            if beacon and beacon.is_per_draw:
                single.append((draw, beacon))
        for start in range(0, len(single), _AT_ONCE):
            self._check_some(single[start : start + _AT_ONCE])

    def _check_some(self, single: Sequence[tuple[Draw, CampaignBeacon]]) -> None:
        names = [(draw.campaign_id, draw.user_id, draw.day, draw.draw_no) for draw, _ in single]
        found = {
            (begun.campaign_id, begun.user_id, begun.day, begun.draw_no): begun
            for begun in self._tables.list_begun(names)
        }
        for (draw, beacon), name in zip(single, names, strict=True):
            said = _begun(draw)
            fixed = found.get(name)
            if fixed is None or fixed != said:
                self._differ(draw, "what was fixed of it", fixed or "no row", said)
            elif beacon.round_of_draw(said.attempted_at_ms) != said.beacon_round:
                named = beacon.round_of_draw(said.attempted_at_ms)
                self._differ(draw, "the round that its beginning names", named, said.beacon_round)
            else:
                self._check_point(draw, self._round(beacon, said.beacon_round))

    def _check_point(self, draw: Draw, found: BeaconRound | None) -> None:
        if found is None or found.signature != draw.signature:
            self._differ(draw, "its round", found or "no row", draw.signature)
            return
        try:
            seed = self._seed(draw.campaign_id, draw.day)
        except (InvariantViolated, ValueError) as error:
            self._differ(draw, "the seed of its day", "one that can be read", error)
            return
        point = draw_point(seed, draw.campaign_id, draw.user_id, draw.draw_no, found.randomness)
        if point != draw.point:
            self._differ(draw, "its point", point, draw.point)

    def _round(self, beacon: CampaignBeacon, round_no: int) -> BeaconRound | None:
        key = beacon.chain.chain_hash, round_no
        found = self._found.find(key) or self._rounds.find(*key)
        if found:
            self._found.keep(key, found)
        return found

    def _seed(self, campaign_id: str, day: str) -> bytes:
        key = campaign_id, day
        seed = self._seeds.find(key) or self._draws.day_seed(campaign_id, day)
        self._seeds.keep(key, seed)
        return seed

    def _differ(self, draw: Draw, what: str, expected: object, actual: object) -> None:
        self._tell(Difference("I5", draw.draw_id, what, str(expected), str(actual)))


def _begun(draw: Draw) -> BegunDraw:
    return BegunDraw(
        campaign_id=draw.campaign_id,
        user_id=draw.user_id,
        day=draw.day,
        draw_no=draw.draw_no,
        attempted_at_ms=draw.attempted_at_ms or 0,
        beacon_round=draw.beacon_round or 0,
        odds=draw.odds,
        table_version=draw.table_version,
    )
