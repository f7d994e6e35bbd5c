"""Writes to ApprovalsTable that count unapproved moves toward the limits."""

from __future__ import annotations

import json
from typing import Any

from redpacket.operations.dynamodb import keys as operator_keys
from redpacket.operations.model.allowances import PERIOD_MS, PERIODS, WINDOW_MS, Allowance, Count
from redpacket.platform.dynamodb.client import Operation, put, update

IS_AS_READ = "version = :read_version"


HAS_ROOM = "attribute_not_exists(moved_fen) OR moved_fen <= :fen_max"


def spend_allowance(approvals_table: str, spent: Allowance | None) -> list[Operation]:
    """Return the writes that count an unapproved move.

    They fail if another move by the operator to the subject was counted concurrently, or if
    concurrent moves used up a limit.
    """
    if spent is None:
        return []
    row: dict[str, Any] = {
        **operator_keys.allowance(spent.operator_id, spent.subject),
        "sums": json.dumps(spent.sums, separators=(",", ":")),
        "version": spent.version,
        "expires_at_s": (spent.sums[-1][0] + WINDOW_MS) // 1000 + 1,
    }
    counts = [_count(approvals_table, count) for count in spent.counts]
    if spent.version == 1:
        # The read found no row, so this write fails if there is one now.
        return [put(approvals_table, row), *counts]
    read_version = spent.version - 1
    return [put(approvals_table, row, condition=IS_AS_READ, read_version=read_version), *counts]


def _count(table: str, count: Count) -> Operation:
    return update(
        table,
        operator_keys.moved(count.owner, count.period),
        "SET expires_at_s = :end_s ADD moved_fen :fen",
        condition=HAS_ROOM,
        fen=count.amount_fen,
        fen_max=count.fen_max,
        end_s=(count.period + PERIODS) * PERIOD_MS // 1000,
    )
