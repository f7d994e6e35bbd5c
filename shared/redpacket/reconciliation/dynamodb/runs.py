"""Progress and lease of reconciliation runs, in the only row of ReconciliationTable."""

from __future__ import annotations

from redpacket.operations.dynamodb import keys as operator_keys
from redpacket.platform.dynamodb.client import Dynamo, Value, update
from redpacket.reconciliation.ports import SavedRun

# A holder may repeat the call if it lost the response.
IS_FREE = "attribute_not_exists(held_until_ms) OR held_until_ms < :now_ms OR holder = :holder"
IS_MINE = "holder = :holder"

_SUMS = "sums_"


class DynamoRuns:
    """DynamoDB implementation of Runs."""

    def __init__(self, dynamo: Dynamo, table: str) -> None:
        self._dynamo = dynamo
        self._table = table

    def take(self, holder: str, now_ms: int, until_ms: int) -> SavedRun | None:
        row = self._dynamo.change(
            update(
                self._table,
                operator_keys.reconciliation(),
                "SET holder = :holder, held_until_ms = :until_ms",
                condition=IS_FREE,
                holder=holder,
                now_ms=now_ms,
                until_ms=until_ms,
            )
        )
        return _saved_of(row) if row else None

    def find(self) -> SavedRun:
        return _saved_of(self._dynamo.get(self._table, operator_keys.reconciliation()) or {})

    def hold(self, holder: str, until_ms: int) -> bool:
        return self._dynamo.write(
            update(
                self._table,
                operator_keys.reconciliation(),
                "SET held_until_ms = :until_ms",
                condition=IS_MINE,
                holder=holder,
                until_ms=until_ms,
            )
        )

    def save(self, holder: str, run: SavedRun, until_ms: int) -> bool:
        sums: dict[str, Value] = {f"{_SUMS}{name}": kept for name, kept in run.sums.items()}
        changes = "".join(f", {name} = :{name}" for name in sums)
        operation = update(
            self._table,
            operator_keys.reconciliation(),
            f"SET held_until_ms = :until_ms, run_state = :run_state{changes}",
            condition=IS_MINE,
            holder=holder,
            until_ms=until_ms,
            run_state=run.state,
            **sums,
        )
        return self._dynamo.write(operation)


def _saved_of(row: dict[str, Value]) -> SavedRun:
    sums = {
        name.removeprefix(_SUMS): value
        for name, value in row.items()
        if name.startswith(_SUMS) and isinstance(value, bytes)
    }
    return SavedRun(str(row.get("run_state", "{}")), sums)
