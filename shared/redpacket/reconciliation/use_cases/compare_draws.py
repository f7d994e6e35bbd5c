"""Comparison of draws with the rows they used up, by strongly consistent reads."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence

from redpacket.lottery.model.lottery import CampaignSnapshot, Draw, PrizeKind, unit_share
from redpacket.packets.model.claim import ShareRef
from redpacket.packets.model.packet import PacketStatus
from redpacket.packets.ports import PacketRepository
from redpacket.platform.clocks import CLOCKS_DIFFER_MS
from redpacket.platform.errors import InvariantViolated
from redpacket.platform.runtime import Clock
from redpacket.reconciliation.checks.facts import Difference
from redpacket.reconciliation.checks.lottery import check_outcomes, check_unit, units_of
from redpacket.reconciliation.ports import Tables
from redpacket.reconciliation.scanned import Scanned, UnitWon
from redpacket.reconciliation.use_cases.cached_rows import CachedRows

_AT_ONCE = 100

_SETTLED_MS = 2_000
"""Milliseconds until a committing transaction is fully visible."""


class DrawComparison:
    """Comparison of draws before *until_ms* with their units; newer ones wait for the next run."""

    def __init__(
        self,
        tables: Tables,
        packets: PacketRepository,
        known: CachedRows,
        clock: Clock,
        until_ms: int,
        tell: Callable[[Difference], None],
    ) -> None:
        self._tables = tables
        self._packets = packets
        self._known = known
        self._clock = clock
        self._until_ms = until_ms
        self._tell = tell

    def check(self, rows: Sequence[Scanned]) -> None:
        """Compare a page of the table of draws."""
        drawn = [row for row in rows if isinstance(row, Draw)]
        won = [draw for draw in drawn if draw.prize and draw.drawn_at_ms < self._until_ms]
        for draw in drawn:
            self._check_draw(draw)
        for start in range(0, len(won), _AT_ONCE):
            self._check_units(won[start : start + _AT_ONCE])
            self._check_cash(won[start : start + _AT_ONCE])
        units = [row for row in rows if isinstance(row, UnitWon)]
        stray = self._without_draws(units)
        if stray:
            self._clock.sleep_ms(_SETTLED_MS)
            for row in self._without_draws(stray):
                self._tell(_unit_difference(row.campaign_id, row, 0, 1))

    def _check_draw(self, draw: Draw) -> None:
        lottery = self._known.lottery(draw.campaign_id)
        prize_id = draw.prize.prize_id if draw.prize else ""
        prizes = lottery.prizes if lottery else ()
        now_total = sum(prize.total for prize in prizes if prize.prize_id == prize_id)
        for found in check_outcomes([draw]) + check_unit(draw, now_total):
            self._tell(found)

    def _check_units(self, won: Sequence[Draw]) -> None:
        """Report units of draws that lack a row naming the draw."""
        wanted: dict[str, list[tuple[Draw, UnitWon]]] = defaultdict(list)
        for draw in won:
            for unit in units_of(draw):
                row = UnitWon(draw.campaign_id, unit, draw.user_id)
                wanted[draw.campaign_id].append((draw, row))
        for campaign_id, pairs in wanted.items():
            found = set(self._tables.list_units(campaign_id, [row.unit for _, row in pairs]))
            for draw, row in pairs:
                if row not in found:
                    self._tell(_unit_difference(draw.campaign_id, row, 1, 0))

    def _without_draws(self, units: Sequence[UnitWon]) -> list[UnitWon]:
        stray: list[UnitWon] = []
        for start in range(0, len(units), _AT_ONCE):
            some = units[start : start + _AT_ONCE]
            names = [(row.campaign_id, row.user_id, row.unit.draw_id) for row in some]
            draws = {draw.draw_id: draw for draw in self._tables.list_draws(names)}
            for row in some:
                draw = draws.get(row.unit.draw_id)
                if draw is None or row.unit not in units_of(draw):
                    stray.append(row)
        return stray

    def _check_cash(self, won: Sequence[Draw]) -> None:
        """Report cash units that are not a claim of their winner."""
        wanted: list[tuple[ShareRef, Draw]] = []
        for draw in won:
            if draw.prize and draw.prize.kind is PrizeKind.PACKET:
                try:
                    wanted.append((unit_share(draw.prize, draw.unit_no), draw))
                except InvariantViolated as error:
                    subject = f"{draw.campaign_id} {draw.prize.prize_id}"
                    self._tell(Difference("I9", subject, str(error), "a packet", "none"))
        claimed = {
            share.ref: (share.taker.user_id, share.amount_fen)
            for share in self._packets.list_refs([ref for ref, _ in wanted])
            if share.taker
        }
        for ref, draw in wanted:
            fen = draw.prize.amount_fen if draw.prize else 0
            if claimed.get(ref) != (draw.user_id, fen):
                self._tell(
                    Difference(
                        "I9",
                        ref.packet_id,
                        f"who won share {ref.share_no} vs whose it is",
                        str((draw.user_id, fen)),
                        str(claimed.get(ref)),
                    )
                )


def unfunded(table: CampaignSnapshot, packets: PacketRepository, now_ms: int) -> list[Difference]:
    """Return cash prizes with unfunded units."""
    # A sweep with a fast clock may have begun refunds.
    is_over = table.campaign.ends_at_ms <= now_ms + CLOCKS_DIFFER_MS
    found = []
    for prize in table.prizes:
        if prize.kind is not PrizeKind.PACKET:
            continue
        subject = f"{prize.campaign_id} {prize.prize_id}"
        counts = dict(prize.packets)
        funded_count = 0
        for start in range(0, len(counts), _AT_ONCE):
            for packet in packets.list_packets(list(counts)[start : start + _AT_ONCE]):
                is_there = is_over or packet.status is PacketStatus.OPEN
                is_its = packet.rules.prize_id == prize.prize_id
                per_unit_fen = packet.terms.total_fen // packet.terms.count
                if is_there and is_its and per_unit_fen == prize.amount_fen:
                    funded_count += min(packet.terms.count, counts[packet.packet_id])
        if funded_count < prize.total:
            what = "units that have their money"
            found.append(Difference("I9", subject, what, prize.total, funded_count))
    return found


def _unit_difference(campaign_id: str, row: UnitWon, expected: int, actual: int) -> Difference:
    unit = row.unit
    what = f"rows of unit {unit.number} {unit.day} of draw {unit.draw_id}"
    return Difference("I9", f"{campaign_id} {unit.prize_id}", what, expected, actual)
