"""Group on the simulated platform."""

from collections.abc import Iterator

import pytest

from testing.chat_system import ChatSystem, chat_system
from testing.in_memory_system import InMemorySystem


@pytest.fixture
def loft(system: InMemorySystem) -> Iterator[ChatSystem]:
    """Yield a group that an operator admitted and whose member ann has money."""
    with chat_system(system) as chat:
        chat.admit()
        chat.deposit("ann", 10_000)
        yield chat
