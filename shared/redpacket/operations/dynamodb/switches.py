"""Repository of switches, limits and the fixed unit of account: the only row of SwitchesTable."""

from __future__ import annotations

from redpacket.operations.dynamodb import keys
from redpacket.operations.model.limits import LimitName
from redpacket.operations.model.switches import Switch, SwitchState
from redpacket.operations.ports import SwitchRow
from redpacket.platform.dynamodb.client import Dynamo, Value, update
from redpacket.platform.errors import Unavailable


class DynamoSwitches:
    """DynamoDB implementation of SwitchStore."""

    def __init__(self, dynamo: Dynamo, unit_id: str = "CNY,2") -> None:
        self._dynamo = dynamo
        self._table = dynamo.tables.switches
        self._unit_id = unit_id
        self._is_unit_fixed = False

    def read(self) -> SwitchRow:
        row = self._dynamo.get(self._table, keys.switches()) or {}
        unit_id = str(row.get("unit_of_account", self._unit_id))
        if unit_id != self._unit_id:
            reason = f"UnitName and UnitDecimals must be {unit_id}, as when money first moved"
            return SwitchRow([SwitchState(each, is_on=False, reason=reason) for each in Switch])
        limits = {name: int(row[name]) for name in LimitName if name in row}
        return SwitchRow([_state_of(switch, row) for switch in Switch], limits)

    def put(self, state: SwitchState) -> None:
        name = state.switch.value
        expression = (
            f"SET {name}_is_on = :is_on, {name}_reason = :reason,"
            f" {name}_changed_at_ms = :changed_at_ms, {name}_changed_by = :changed_by"
        )
        operation = update(
            self._table,
            keys.switches(),
            expression,
            is_on=state.is_on,
            reason=state.reason,
            changed_at_ms=state.changed_at_ms or 0,
            changed_by=state.changed_by or "",
        )
        self._dynamo.write(operation)

    def fix_unit(self) -> None:
        # Each process that accepts money from outside writes the unit once.
        self._is_unit_fixed = self._is_unit_fixed or self._dynamo.update(
            self._table,
            keys.switches(),
            "SET unit_of_account = :unit",
            condition="attribute_not_exists(unit_of_account) OR unit_of_account = :unit",
            unit=self._unit_id,
        )
        if not self._is_unit_fixed:
            raise Unavailable(f"a unit of account other than {self._unit_id} is fixed")

    def put_limit(self, name: LimitName, value: int | None) -> None:
        row = (self._table, keys.switches())
        if value is None:
            self._dynamo.update(*row, f"REMOVE {name}")
        else:
            self._dynamo.update(*row, f"SET {name} = :value", value=value)


def _state_of(switch: Switch, row: dict[str, Value]) -> SwitchState:
    name = switch.value
    if f"{name}_is_on" not in row:
        return SwitchState(switch)
    return SwitchState(
        switch,
        is_on=bool(row[f"{name}_is_on"]),
        reason=str(row[f"{name}_reason"]),
        changed_at_ms=int(row[f"{name}_changed_at_ms"]),
        changed_by=str(row[f"{name}_changed_by"]),
    )
