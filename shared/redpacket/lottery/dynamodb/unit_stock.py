"""Counter of won units that resumes from a stored position, so no call reads all units.

Units are won permanently and almost in numerical order. DrawsTable stores a position below which
nearly all units are won. A call reads a bounded number of rows, stores its position, and fails if
rows are left; the next call resumes at the position (docs/adr/0008).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from secrets import SystemRandom

from redpacket.lottery.dynamodb import keys as draw_keys
from redpacket.lottery.model.lottery import (
    UNITS_MAX,
    Prize,
    PrizeKind,
    PrizeStock,
    unit_share,
)
from redpacket.packets.dynamodb import keys
from redpacket.packets.model.claim import ShareStatus
from redpacket.packets.model.packet import partition_count
from redpacket.platform.dynamodb.client import Dynamo, Row, Value, values
from redpacket.platform.errors import Unavailable

IS_BEHIND = "attribute_not_exists(pk) OR until_no < :until_no"
IS_WRONG = "until_no = :wrong_no"

ROWS_PER_CALL = 100_000
"""Maximum rows read per call: about seventeen DynamoDB pages, and less than a second of CPU."""

ROWS_PER_RUN = 200
"""Minimum rows read from each partition, so that the last prize also progresses."""

NOTED_MIN = 200
"""Minimum number of new units before the position is stored again."""

FREE_MAX = 5_000
"""Maximum number of free units below a position; each call reads them again."""

PROBED = 50
"""Units read at random to verify a stored position, which roles that can't draw can write."""

_COUNTING = "The won units are being counted. Try again."

_Statuses = dict[int, Value | None]
"""Units that have a row, with the status of the share that pays the unit, or None."""


@dataclass(frozen=True, slots=True)
class _Place:
    """Position up to which all units but *free* have rows; *refunded_count* rows lack a winner."""

    until_no: int = 0
    free: tuple[int, ...] = ()
    refunded_count: int = 0
    wrong_no: int | None = None
    """Stored position that the units contradict, and that this position replaces."""


@dataclass(frozen=True, slots=True)
class _Run:
    """Units *before* + 1 to *before* + *count* in one partition."""

    table: str
    pk: str
    prefix: str
    before: int = 0
    count: int = UNITS_MAX


class UnitStock:
    """Unit counter for one call; the read limit applies to all prizes of the call together."""

    def __init__(self, dynamo: Dynamo) -> None:
        self._dynamo = dynamo
        self._draws = dynamo.tables.draws
        self._shares = dynamo.tables.shares
        self._left = ROWS_PER_CALL

    def count(self, prize: Prize, day: str) -> PrizeStock:
        """Return the state of a prize's units. Raises Unavailable if unread rows are left."""
        where = prize.campaign_id, prize.prize_id
        units = draw_keys.units(*where)["pk"]
        if prize.kind is PrizeKind.PACKET:
            all_in_all = self._read(
                draw_keys.stock(*where, ""), self._cash(prize), lambda no: _share_key(prize, no)
            )
        else:
            run = _Run(self._draws, units, draw_keys.UNIT_PREFIX)
            all_in_all = self._read(
                draw_keys.stock(*where, ""), [run], lambda no: draw_keys.unit(*where, no)
            )
        today = _Place()
        if prize.per_day:
            run = _Run(self._draws, units, draw_keys.day_units(day))
            today = self._read(
                draw_keys.stock(*where, day), [run], lambda no: draw_keys.day_unit(*where, day, no)
            )
        return PrizeStock(
            prize.prize_id,
            all_in_all.until_no,
            all_in_all.free,
            today.until_no,
            today.free,
            all_in_all.refunded_count,
        )

    def _cash(self, prize: Prize) -> list[_Run]:
        runs: list[_Run] = []
        before = 0
        for packet_id, count in prize.packets:
            for partition in range(partition_count(packet_id)):
                pk = keys.shares(packet_id, partition)["pk"]
                runs.append(_Run(self._shares, pk, keys.SHARE_PREFIX, before, count))
            before += count
        return runs

    def _read(self, where: Row, runs: Sequence[_Run], key_of: Callable[[int], Row]) -> _Place:
        if self._left <= 0:
            raise Unavailable(_COUNTING)
        noted, statuses = self._proven(self._find(where), runs, key_of)
        ahead = [run for run in runs if run.before + run.count > noted.until_no]
        limit = max(ROWS_PER_RUN, self._left // max(1, len(ahead)))
        known_to: int | None = None
        for run in ahead:
            page = self._rows_after(noted.until_no, run, limit)
            if len(page) == limit:
                known_to = min(known_to or UNITS_MAX, max(page))
            statuses |= page
        self._left -= len(statuses)
        place = _place_at(max(statuses, default=0), noted, statuses)
        self._note(
            where, noted, place if known_to is None else _place_at(known_to, noted, statuses)
        )
        if known_to is not None:
            raise Unavailable(_COUNTING)
        return place

    def _proven(
        self, noted: _Place, runs: Sequence[_Run], key_of: Callable[[int], Row]
    ) -> tuple[_Place, _Statuses]:
        """Return *noted* and the free units' rows, or no position if a probed unit lacks a row."""
        if not runs or not noted.until_no:
            return noted, {}
        if noted.until_no > max(run.before + run.count for run in runs):
            return _Place(wrong_no=noted.until_no), {}
        numbers = range(1, noted.until_no + 1)
        probed = SystemRandom().sample(numbers, min(PROBED, len(numbers)))
        rows = self._look_again(runs[0].table, {*noted.free, *probed}, key_of)
        if not rows.keys() >= {*probed}.difference(noted.free):
            return _Place(wrong_no=noted.until_no), {}
        return noted, {no: rows[no] for no in noted.free if no in rows}

    def _rows_after(self, until_no: int, run: _Run, limit: int) -> _Statuses:
        first = max(0, until_no - run.before) + 1
        rows = self._dynamo.query_some(
            run.table,
            limit,
            KeyConditionExpression="pk = :pk AND sk BETWEEN :first AND :last",
            ExpressionAttributeValues=values(
                pk=run.pk, first=f"{run.prefix}{first:07d}", last=f"{run.prefix}~"
            ),
            ProjectionExpression="sk, fate",
            ConsistentRead=True,
        )
        return {run.before + int(str(row["sk"])[-7:]): row.get("fate") for row in rows}

    def _look_again(
        self, table: str, numbers: Collection[int], key_of: Callable[[int], Row]
    ) -> _Statuses:
        row_keys = {tuple(key_of(no).values()): no for no in numbers}
        rows = self._dynamo.get_many(table, [key_of(no) for no in numbers], is_strong=True)
        return {row_keys[row["pk"], row["sk"]]: row.get("fate") for row in rows}

    def _find(self, where: Row) -> _Place:
        row = self._dynamo.get(self._draws, where)
        if row is None:
            return _Place()
        free = tuple(map(int, filter(None, str(row["free_nos"]).split(","))))
        return _Place(int(row["until_no"]), free, int(row["refunded_count"]))

    def _note(self, where: Row, noted: _Place, place: _Place) -> None:
        if len(place.free) > FREE_MAX or place.until_no - noted.until_no < NOTED_MIN:
            return
        replaced = {} if noted.wrong_no is None else {"wrong_no": noted.wrong_no}
        self._dynamo.update(
            self._draws,
            where,
            "SET until_no = :until_no, free_nos = :free_nos, refunded_count = :refunded_count",
            condition=IS_WRONG if replaced else IS_BEHIND,
            **replaced,
            until_no=place.until_no,
            free_nos=",".join(map(str, place.free)),
            refunded_count=place.refunded_count,
        )


def _place_at(until_no: int, noted: _Place, statuses: _Statuses) -> _Place:
    """Return the position at *until_no*; *noted* and *statuses* are complete up to this unit."""
    until_no = max(until_no, noted.until_no)
    fresh = range(noted.until_no + 1, until_no)
    free = [no for no in (*noted.free, *fresh) if no not in statuses]
    refunded = sum(
        status == ShareStatus.REFUNDED for no, status in statuses.items() if no <= until_no
    )
    return _Place(until_no, tuple(free), noted.refunded_count + refunded)


def _share_key(prize: Prize, unit_no: int) -> Row:
    ref = unit_share(prize, unit_no)
    return keys.share(ref.packet_id, ref.share_no)
