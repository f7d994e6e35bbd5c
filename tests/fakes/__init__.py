"""In-memory stand-ins; tests/contract holds each of them to the real thing."""

from __future__ import annotations

from tests.fakes.claim_cache import FakeClaimCache, FakeQuotas
from tests.fakes.draw_cache import FakeDrawCache
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
    "FakeClaimCache",
    "FakeClock",
    "FakeDeadLetters",
    "FakeDeliveries",
    "FakeDrawCache",
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
