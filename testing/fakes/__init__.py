"""In-memory stand-ins; tests/contract holds each of them to the real thing."""

from testing.fakes.claim_cache import FakeAudiences, FakeClaimCache, FakeQuotas
from testing.fakes.draw_cache import FakeDrawCache
from testing.fakes.dynamo import FakeDynamo
from testing.fakes.services import (
    Away,
    FakeClock,
    FakeDeadLetters,
    FakeLimits,
    FakeLogger,
    FakePictures,
    FakeQueue,
    FakeRefusals,
    FakeSwitchCopy,
    FakeSwitchStore,
)
from testing.fakes.tables import FakeTable, Item, Position, locate

__all__ = [
    "Away",
    "FakeAudiences",
    "FakeClaimCache",
    "FakeClock",
    "FakeDeadLetters",
    "FakeDrawCache",
    "FakeDynamo",
    "FakeLimits",
    "FakeLogger",
    "FakePictures",
    "FakeQueue",
    "FakeQuotas",
    "FakeRefusals",
    "FakeSwitchCopy",
    "FakeSwitchStore",
    "FakeTable",
    "Item",
    "Position",
    "locate",
]
