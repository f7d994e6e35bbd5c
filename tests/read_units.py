"""Counts what reads cost: a DynamoDB client that sizes the answers as DynamoDB bills them.

Fakes and emulators report no consumed capacity, so it is computed from the sizes of items: 4 KB a
unit for a strong read, and half of it for an eventually consistent one; a query is the sum of what
it read, and what is not there costs as much as the smallest item.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

UNIT_BYTES = 4096


@dataclass(frozen=True, slots=True)
class Read:
    """One request, or one item of a request for several."""

    table: str
    is_strong: bool
    units: float


class MeteredDynamo:
    """A DynamoDB client in front of *client* that notes every read.

    *projected* has, by index, the attributes that are in it, where those are not all: a fake
    returns whole rows.
    """

    def __init__(self, client: Any, projected: Mapping[str, Collection[str]] | None = None) -> None:
        self._client = client
        self._projected = projected or {}
        self.reads: list[Read] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    @property
    def units(self) -> float:
        return sum(read.units for read in self.reads)

    @property
    def strong_count(self) -> int:
        return sum(read.is_strong for read in self.reads)

    def forget(self) -> None:
        """Begin anew."""
        self.reads.clear()

    def get_item(self, **request: Any) -> Any:
        answer = self._client.get_item(**request)
        found = [answer["Item"]] if "Item" in answer else []
        self._note(request["TableName"], found, is_strong=request.get("ConsistentRead", False))
        return answer

    def batch_get_item(self, **request: Any) -> Any:
        answer = self._client.batch_get_item(**request)
        for table, asked in request["RequestItems"].items():
            is_strong = asked.get("ConsistentRead", False)
            found = answer["Responses"].get(table, [])
            unread = answer.get("UnprocessedKeys", {}).get(table, {}).get("Keys", [])
            missing_count = len(asked["Keys"]) - len(found) - len(unread)
            for items in [*([item] for item in found), *([] for _ in range(missing_count))]:
                self._note(table, items, is_strong=is_strong)
        return answer

    def query(self, **request: Any) -> Any:
        answer = self._client.query(**request)
        shown = self._projected.get(request.get("IndexName", ""))
        items = [
            {name: value for name, value in item.items() if shown is None or name in shown}
            for item in answer["Items"]
        ]
        self._note(request["TableName"], items, is_strong=request.get("ConsistentRead", False))
        return answer

    def scan(self, **request: Any) -> Any:
        answer = self._client.scan(**request)
        is_strong = request.get("ConsistentRead", False)
        self._note(request["TableName"], answer["Items"], is_strong=is_strong)
        return answer

    def _note(self, table: str, items: Iterable[Mapping[str, Any]], *, is_strong: bool) -> None:
        read_bytes = sum(map(item_bytes, items))
        blocks = max(1, -(-read_bytes // UNIT_BYTES))
        self.reads.append(Read(table, is_strong, blocks * (1 if is_strong else 0.5)))


def item_bytes(item: Mapping[str, Any]) -> int:
    """Return what DynamoDB counts an item as: names and values, in its wire form."""
    return sum(len(name.encode()) + _value_bytes(value) for name, value in item.items())


def _value_bytes(value: Mapping[str, Any]) -> int:
    ((letter, held),) = value.items()
    sizes: dict[str, Callable[[Any], int]] = {
        "S": lambda text: len(text.encode()),
        "B": len,
        "N": _number_bytes,
        "BOOL": lambda _: 1,
        "NULL": lambda _: 1,
        "L": lambda held: 3 + sum(1 + _value_bytes(one) for one in held),
        "M": lambda held: 3 + len(held) + item_bytes(held),
    }
    return sizes[letter](held)


def _number_bytes(text: str) -> int:
    # Two digits a byte, and one more; another one for a sign.
    digits = text.lstrip("-").replace(".", "").strip("0") or "0"
    return (len(digits) + 1) // 2 + 1 + text.startswith("-")
