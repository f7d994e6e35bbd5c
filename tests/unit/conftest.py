"""A town in memory, with the invariants after every test in it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from local.packet_ids import PUBLISHED_KEYS
from redpacket.edge.packet_ids import packet_ids
from tests.town import Town


@pytest.fixture(autouse=True)
def _packet_id_keys(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let the doors accept the ids of tests/builders.py."""
    monkeypatch.setenv("PACKET_ID_KEYS", PUBLISHED_KEYS)
    yield
    packet_ids.cache_clear()


@pytest.fixture
def town() -> Iterator[Town]:
    town = Town()
    yield town
    assert town.differences() == []
