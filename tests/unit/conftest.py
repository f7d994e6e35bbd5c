"""A town in memory, with the invariants after every test in it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.town import Town


@pytest.fixture
def town() -> Iterator[Town]:
    town = Town()
    yield town
    assert town.differences() == []
