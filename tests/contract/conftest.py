"""Fixtures of the contract suites.

The ledger's scenarios run on the fake and on the emulator. The payment suites run each provider's
adapter over HTTP. Each simulated provider starts once, and loses its data before each test.
"""

from collections.abc import Iterator

import pytest

from testing.payments.gateways import (
    OWN_WALLET,
    MemorySide,
    Side,
    WeChatSide,
    a_host_side,
    a_wechat_side,
)
from testing.platform.cloud import Cloud, a_cloud
from tests.contract.tables import KINDS, Books, a_client, some_books


@pytest.fixture(scope="session")
def cloud() -> Iterator[Cloud]:
    """Yield the AWS emulator with the template's tables and a cache, but no functions."""
    with a_cloud() as running:
        yield running


@pytest.fixture(params=KINDS)
def books(request: pytest.FixtureRequest) -> Iterator[Books]:
    """Yield a ledger, and check its invariants after the test."""
    with a_client(request.param, request) as client:
        yield some_books(client)
        assert not some_books(client).ledger_state().differences()


@pytest.fixture(scope="session")
def running_wechat(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WeChatSide]:
    """Yield WeChat Pay, simulated by the fake gateway."""
    with a_wechat_side(tmp_path_factory.mktemp("gateway")) as side:
        yield side


@pytest.fixture(scope="session")
def running_host(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Side]:
    """Yield the simulated wallet of an embedding app, or the wallet that `wallet-check` tests."""
    own: Side | None = request.config.stash.get(OWN_WALLET, None)
    if own:
        yield own
        return
    with a_host_side(tmp_path_factory.mktemp("wallet")) as side:
        yield side


@pytest.fixture
def wechat(running_wechat: WeChatSide) -> WeChatSide:
    """Return WeChat Pay without stored data."""
    running_wechat.empty()
    return running_wechat


@pytest.fixture
def host(running_host: Side) -> Side:
    """Return the host's wallet without stored data."""
    running_host.empty()
    return running_host


@pytest.fixture
def memory() -> Side:
    """Return the in-process simulator that the use cases' tests and the fault simulation use."""
    return MemorySide()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a scenario with each provider, and in memory if its module sets IN_MEMORY_TOO. For
    `wallet-check`, run it only with the host's wallet.
    """
    if "side" in metafunc.fixturenames:
        in_memory = ["memory"] if getattr(metafunc.module, "IN_MEMORY_TOO", False) else []
        sides = ["wechat", "host", *in_memory]
        if OWN_WALLET in metafunc.config.stash:
            sides = ["host"]
        metafunc.parametrize("side", sides, indirect=True)


@pytest.fixture
def side(request: pytest.FixtureRequest) -> Side:
    """Return the provider that `pytest_generate_tests` chose."""
    chosen: Side = request.getfixturevalue(request.param)
    return chosen
