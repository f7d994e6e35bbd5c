"""In-memory fakes of services. tests/contract compares most of them with the real services."""

from testing.lottery.fake_draw_cache import FakeDrawCache
from testing.packets.fake_claim_cache import FakeAudiences, FakeQuotas, FakeShards
from testing.platform.fake_dynamo import FakeDynamo
from testing.platform.fake_services import (
    Away,
    FakeClock,
    FakeDeadLetters,
    FakeLimits,
    FakeLogger,
    FakeOutcomes,
    FakePictures,
    FakeQueue,
    FakeSwitchCopy,
    FakeSwitchStore,
)
from testing.platform.fake_tables import FakeTable, Item, Position, locate

__all__ = [
    "Away",
    "FakeAudiences",
    "FakeClock",
    "FakeDeadLetters",
    "FakeDrawCache",
    "FakeDynamo",
    "FakeLimits",
    "FakeLogger",
    "FakeOutcomes",
    "FakePictures",
    "FakeQueue",
    "FakeQuotas",
    "FakeShards",
    "FakeSwitchCopy",
    "FakeSwitchStore",
    "FakeTable",
    "Item",
    "Position",
    "locate",
]
