"""In-memory stand-ins; tests/contract holds each of them to the real thing."""

from __future__ import annotations

from tests.fakes.board import FakeBoard, FakeQuotas
from tests.fakes.draw_board import FakeDrawBoard
from tests.fakes.dynamo import FakeDynamo
from tests.fakes.services import (
    FakeClock,
    FakeDeadLetters,
    FakeDeliveries,
    FakeJournal,
    FakeLimits,
    FakeQueue,
    FakeSwitchCopy,
    FakeSwitchStore,
)
from tests.fakes.tables import FakeTable, Item, Position, locate

__all__ = [
    "FakeBoard",
    "FakeClock",
    "FakeDeadLetters",
    "FakeDeliveries",
    "FakeDrawBoard",
    "FakeDynamo",
    "FakeJournal",
    "FakeLimits",
    "FakeQueue",
    "FakeQuotas",
    "FakeSwitchCopy",
    "FakeSwitchStore",
    "FakeTable",
    "Item",
    "Position",
    "locate",
]
