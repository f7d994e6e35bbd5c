"""In-memory system whose invariants are checked after each test, and one with payments."""

from collections.abc import Iterator

import pytest

from local.packet_ids import PUBLISHED_KEYS
from local.seed_keys import PUBLISHED_SEED_KEYS
from local.user_ids import PUBLISHED_KEY
from redpacket.packets.api.packet_ids import packet_ids
from redpacket.platform.http.request import user_ids
from testing.in_memory_system import InMemorySystem
from testing.payments.payment_system import PaymentSystem


@pytest.fixture(autouse=True)
def _keys(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Set the published keys, so that handlers accept packet ids of testing/builders.py."""
    monkeypatch.setenv("PACKET_ID_KEYS", PUBLISHED_KEYS)
    monkeypatch.setenv("USER_ID_KEY", PUBLISHED_KEY)
    monkeypatch.setenv("SEED_KEYS", PUBLISHED_SEED_KEYS)
    yield
    packet_ids.cache_clear()
    user_ids.cache_clear()


@pytest.fixture
def system() -> Iterator[InMemorySystem]:
    system = InMemorySystem()
    yield system
    assert system.differences() == []


@pytest.fixture
def town() -> PaymentSystem:
    """Return a system whose users pay in and withdraw."""
    return PaymentSystem()
