"""Reads for reconciliation: whole tables page by page, and single rows to check again."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

from redpacket.campaigns.dynamodb import keys as campaign_keys
from redpacket.campaigns.dynamodb.items import campaign_of
from redpacket.fairness.dynamodb import keys as log_keys
from redpacket.fairness.dynamodb.log import DynamoLog
from redpacket.ledger.dynamodb import keys
from redpacket.ledger.dynamodb.books import balance_of, entry_of, receipt_of
from redpacket.lottery.dynamodb import keys as draw_keys
from redpacket.lottery.dynamodb.campaign_snapshot import table_of
from redpacket.lottery.dynamodb.items import draw_of, unit_of
from redpacket.lottery.model.lottery import Draw
from redpacket.packets.dynamodb import items
from redpacket.packets.model.seed_keys import SeedKeys
from redpacket.payments.dynamodb import keys as payment_keys
from redpacket.payments.dynamodb.items import (
    booked_line_of,
    payment_of,
    refund_of,
    return_of,
    withdrawal_of,
)
from redpacket.payments.model.provider import Channel, bill_day, bill_day_start_ms
from redpacket.platform.dynamodb.client import KEYS_PER_READ, Dynamo, Row, values
from redpacket.reconciliation.checks.facts import PlayerDay, Unit
from redpacket.reconciliation.checks.outside import BookedLine
from redpacket.reconciliation.ports import Table
from redpacket.reconciliation.scanned import (
    ClaimCount,
    HelpGiven,
    Logged,
    Member,
    Played,
    Scanned,
    UnitWon,
    UnreadableRow,
    Withdrawn,
    WonOnce,
)

Found = TypeVar("Found")

_DAY_MS = 24 * 3_600_000

_UNREADABLE = (KeyError, ValueError, TypeError, AttributeError)


class DynamoTables:
    """DynamoDB implementation of Tables."""

    def __init__(
        self, dynamo: Dynamo, names: Mapping[Table, str], seeds: SeedKeys | None = None
    ) -> None:
        self._dynamo = dynamo
        self._names = names
        self._seeds = seeds
        self._log = DynamoLog(dynamo, names.get(Table.LOG, ""))

    def kept(self) -> list[Table]:
        return [table for table in Table if table in self._names]

    def read(self, table: Table, place: str | None) -> tuple[list[Scanned], str | None]:
        if table is Table.LOG:
            return self._read_log(int(place or 0))
        begin = json.loads(place) if place else None
        rows, end = self._dynamo.scan_page(self._names[table], begin)
        found = [read for row in rows if (read := self._read(table, row))]
        return found, json.dumps(end) if end else None

    def _read_log(self, first: int) -> tuple[list[Scanned], str | None]:
        after = first + log_keys.LOG_ENTRIES_AT_ONCE
        found = self._log.list_entries(first, log_keys.LOG_ENTRIES_AT_ONCE)
        is_last = after >= self._log.find_head().size
        return [Logged(*one) for one in found], None if is_last else str(after)

    def partition(self, table: Table, owner: tuple[str, ...]) -> Iterator[Scanned]:
        rows = self._dynamo.query(
            self._names[table],
            KeyConditionExpression="pk = :pk",
            ExpressionAttributeValues=values(pk=_PARTITIONS[table](*owner)),
            ConsistentRead=True,
        )
        return (read for row in rows if (read := self._read(table, row)))

    def count_claims(self, pairs: Sequence[tuple[str, str]]) -> dict[tuple[str, str], int]:
        row_keys = [keys.claim_count(*pair) for pair in pairs]
        found = list(self._get_all(Table.QUOTAS, row_keys, _count_of))
        return {(count.campaign_id, count.user_id): count.count for count in found}

    def list_members(self, names: Sequence[tuple[str, str]]) -> list[Member]:
        row_keys = [campaign_keys.campaign_packet(*name) for name in dict.fromkeys(names)]
        return list(self._get_all(Table.CAMPAIGNS, row_keys, _member_of))

    def list_draws(self, names: Sequence[tuple[str, str, str]]) -> list[Draw]:
        row_keys = [draw_keys.draw(*name) for name in dict.fromkeys(names)]
        return list(self._get_all(Table.DRAWS, row_keys, draw_of))

    def list_outside(self, accounts: Sequence[str]) -> list[Scanned]:
        return [
            row
            for account in dict.fromkeys(accounts)
            for row in self.partition(Table.PAYMENTS, tuple(account.split(":", 1)))
        ]

    def list_booked(self, channel: Channel, line: BookedLine, since_ms: int) -> list[BookedLine]:
        shard, found = keys.work_shard(line.number), list[BookedLine]()
        # The gateway's clock may be another one.
        for at_ms in range(since_ms - _DAY_MS, line.noted_at_ms + 2 * _DAY_MS, _DAY_MS):
            pk = payment_keys.outside_lines(channel, line.kind, bill_day(at_ms), shard)
            rows = self._dynamo.query(
                self._names[Table.PAYMENTS],
                KeyConditionExpression="pk = :pk AND begins_with(sk, :number)",
                ExpressionAttributeValues=values(pk=pk, number=f"{line.number}#"),
                ConsistentRead=True,
            )
            found += [booked_line_of(row) for row in rows]
        return found

    def list_withdrawn(self, user_id: str, day: str) -> list[Scanned]:
        counted, name = payment_keys.withdrawn(user_id, day), payment_keys.withdrawal_list(user_id)
        found = list(self._listed(Table.PAYMENTS, name, bill_day_start_ms(day)))
        found += self._get_all(Table.PAYMENTS, [counted], _outside_row)
        return found

    def list_unpaid(self, account: str) -> list[Scanned]:
        name = keys.unpaid_list(account.partition(":")[2])
        counted = [keys.account(account)]
        found: list[Scanned] = list(self._listed(Table.PACKETS, name))
        found += self._get_all(Table.ACCOUNTS, counted, _account_row)
        return found

    def list_units(self, campaign_id: str, units: Sequence[Unit]) -> list[UnitWon]:
        # Two draws name the same unit if one of them is forged.
        named = {(unit.prize_id, unit.day, unit.number): unit for unit in units}
        row_keys = [_unit_key(campaign_id, unit) for unit in named.values()]
        return list(self._get_all(Table.DRAWS, row_keys, unit_of))

    def _listed(self, table: Table, name: str, day_ms: int | None = None) -> Iterator[Scanned]:
        """Yield the rows of a list, all or those of one day, each read strongly."""
        first_ms, last_ms = (0, 10**13 - 1) if day_ms is None else (day_ms, day_ms + _DAY_MS - 1)
        rows = self._dynamo.query(
            self._names[table],
            IndexName="by_list",
            KeyConditionExpression="list_pk = :list AND list_sk BETWEEN :first AND :last",
            ExpressionAttributeValues=values(
                list=name,
                first=keys.list_position(first_ms, ""),
                last=keys.list_position(last_ms, "~"),
            ),
        )
        row_keys: list[Row] = [{"pk": row["pk"], "sk": row["sk"]} for row in rows]
        return self._get_all(table, row_keys, partial(self._read, table))

    def _read(self, table: Table, row: dict[str, Any]) -> Scanned | None:
        try:
            _check_numbers(row)
            if table is Table.PACKETS:
                is_packet = row["sk"] == keys.PACKET
                return items.packet_of(row, self._seeds) if is_packet else None
            return _READERS[table](row)
        except _UNREADABLE:
            # A forged row must not keep other rows from being compared.
            return UnreadableRow(" ".join(str(row[name]) for name in ("pk", "sk") if name in row))

    def _get_all(
        self, table: Table, row_keys: Sequence[Row], read: Callable[[dict[str, Any]], Found | None]
    ) -> Iterator[Found]:
        """Yield existing rows, skipping malformed ones as if they were absent."""
        for start in range(0, len(row_keys), KEYS_PER_READ):
            chunk = row_keys[start : start + KEYS_PER_READ]
            for row in self._dynamo.get_many(self._names[table], chunk, is_strong=True):
                try:
                    _check_numbers(row)
                    found = read(row)
                except _UNREADABLE:
                    continue
                if found is not None:
                    yield found


def _check_numbers(row: Mapping[str, object]) -> None:
    """Raise ValueError for a non-integer number, which sums cannot include."""
    if any(isinstance(value, float) for value in row.values()):
        raise ValueError("a number is not an integer")


def _account_row(row: dict[str, Any]) -> Scanned | None:
    if row["sk"] == keys.BALANCE:
        return balance_of(row)
    if row["sk"] == keys.RECEIPT:
        return receipt_of(row)
    if row["sk"].startswith((keys.ENTRY_PREFIX, keys.CLAIM_PREFIX)):
        return entry_of(row)
    return None


def _share_row(row: dict[str, Any]) -> Scanned | None:
    is_fate = row["sk"].startswith(keys.SHARE_PREFIX)
    return items.share_of(row) if is_fate else items.taker_of(row)


def _count_of(row: dict[str, Any]) -> ClaimCount:
    # Campaign ids contain no "#".
    campaign_id, user_id = row["pk"].split("#", 1)
    return ClaimCount(campaign_id, user_id, row["claim_count"], row["first_at_ms"])


def _campaign_row(row: dict[str, Any]) -> Scanned | None:
    campaign_id = row["pk"].partition("#")[2]
    if row["sk"] == campaign_keys.campaign(campaign_id)["sk"]:
        return campaign_of(row)
    if row["sk"] == campaign_keys.SHOWN:
        return table_of(row)
    if row["sk"].startswith(campaign_keys.CAMPAIGN_PACKET_PREFIX):
        return _member_of(row)
    return None


def _member_of(row: dict[str, Any]) -> Member:
    campaign_id = row["pk"].partition("#")[2]
    packet_id = row["sk"].removeprefix(campaign_keys.CAMPAIGN_PACKET_PREFIX)
    return Member(campaign_id, packet_id, row["total_fen"], row["created_at_ms"])


def _draw_row(row: dict[str, Any]) -> Scanned | None:
    kind, _, where = row["pk"].partition("#")
    if f"{kind}#" in {draw_keys.UNITS_PREFIX, draw_keys.STOCK_PREFIX}:
        # A position in the stock is derived from the units.
        return unit_of(row) if f"{kind}#" == draw_keys.UNITS_PREFIX else None
    campaign_id, user_id = where.split("#", 1)
    sort_key = row["sk"]
    if sort_key.startswith(draw_keys.DRAW_PREFIX):
        return draw_of(row)
    if sort_key.startswith(draw_keys.PLAYER_PREFIX):
        player = PlayerDay(
            user_id,
            sort_key.removeprefix(draw_keys.PLAYER_PREFIX),
            row["attempt_count"],
            row["win_count"],
            row.get("help_count", 0),
            row.get("attempts_max", 0),
            row.get("wins_max", 0),
        )
        return Played(campaign_id, player)
    if sort_key.startswith(draw_keys.DRAW_REQUEST_PREFIX):
        return None
    if sort_key.startswith(draw_keys.WINNER_PREFIX):
        prize_id = sort_key.removeprefix(draw_keys.WINNER_PREFIX)
        return WonOnce(campaign_id, user_id, prize_id, row["draw_id"])
    if sort_key.startswith(draw_keys.HELP_PREFIX):
        return HelpGiven(campaign_id, user_id, row["day"])
    raise ValueError(f"no row of a draw has a key like {sort_key}")


def _outside_row(row: dict[str, Any]) -> Scanned | None:
    sort_key = row["sk"]
    if sort_key == payment_keys.PAYMENT:
        return payment_of(row)
    if sort_key == payment_keys.WITHDRAWAL:
        return withdrawal_of(row)
    if sort_key.startswith(payment_keys.REFUND_PREFIX):
        return refund_of(row)
    if row["pk"].startswith(payment_keys.OUTSIDE_PREFIX):
        return booked_line_of(row)
    if sort_key.startswith(payment_keys.WITHDRAWN_PREFIX):
        user_id, day = row["pk"].removeprefix(keys.USER_PREFIX), sort_key.partition("#")[2]
        return Withdrawn(user_id, day, row["withdrawn_count"], row["withdrawn_fen"])
    return return_of(row) if sort_key.startswith(payment_keys.RETURN_PREFIX) else None


def _unit_key(campaign_id: str, unit: Unit) -> dict[str, str]:
    if unit.day:
        return draw_keys.day_unit(campaign_id, unit.prize_id, unit.day, unit.number)
    return draw_keys.unit(campaign_id, unit.prize_id, unit.number)


_READERS = {
    Table.ACCOUNTS: _account_row,
    Table.SHARES: _share_row,
    Table.QUOTAS: _count_of,
    Table.CAMPAIGNS: _campaign_row,
    Table.DRAWS: _draw_row,
    Table.PAYMENTS: _outside_row,
}

_PARTITIONS: dict[Table, Callable[..., str]] = {
    Table.ACCOUNTS: lambda account: keys.account(account)["pk"],
    Table.SHARES: lambda user_id: f"{keys.USER_PREFIX}{user_id}",
    Table.CAMPAIGNS: lambda campaign_id: campaign_keys.campaign(campaign_id)["pk"],
    Table.DRAWS: lambda campaign_id, user_id: draw_keys.drawer(campaign_id, user_id)["pk"],
    Table.PAYMENTS: lambda kind, number: f"{kind}#{number}",
}
