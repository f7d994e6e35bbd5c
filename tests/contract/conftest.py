"""Fixtures of the ledger's suites: the same stories on the fake, on moto and on the emulator."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from testing.cloud import Cloud, a_cloud
from tests.contract.tables import KINDS, Books, a_client, some_books


@pytest.fixture(scope="session")
def cloud() -> Iterator[Cloud]:
    """The AWS emulator with the template's tables and a cache, and none of its functions."""
    with a_cloud() as running:
        yield running


@pytest.fixture(params=KINDS)
def books(request: pytest.FixtureRequest) -> Iterator[Books]:
    """A ledger that is right after every test."""
    with a_client(request.param, request) as client:
        yield some_books(client)
        assert not some_books(client).ledger_state().differences()
