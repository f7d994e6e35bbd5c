"""Setups of providers: the stack, its page and the release find each in the provider's folder."""

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from anyio.from_thread import start_blocking_portal

from local import gateways
from local.gateways.policy import Mode
from local.gateways.server import application
from local.gateways.setups import Place, page_parts, setups
from local.ports import Ports
from local.publish import configuration
from redpacket.ledger.provider_name import ProviderName

FOLDERS = Path(__file__).parents[1] / "payments" / "gateways"
USERS = {"JwtIssuer": "https://issuer.example", "PageClientId": "page"}


@pytest.fixture
def _coin(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(gateways, "__path__", [*gateways.__path__, str(FOLDERS)])
    setups.cache_clear()
    yield
    setups.cache_clear()


@pytest.mark.usefixtures("_coin")
def test_a_third_provider_is_published_and_started_like_the_others(tmp_path: Path) -> None:
    given = {**USERS, "CoinUrl": "https://coin.example", "HostWalletUrl": "https://host.example"}

    told = configuration({}, given, "eu-central-1")
    simulator = setups()["coin"].simulator(Place(tmp_path, "http://coin", "", ()))

    assert set(setups()) == {"coin", *ProviderName}
    assert set(Ports.free().simulators) == set(setups())
    assert told["channels"] == ["coin", "host"]
    assert told["coin"] == {"leads_to": "https://coin.example"}
    assert configuration({}, {**given, "CoinIssuer": "arn"}, "eu-central-1")["auth"] == {
        "kind": "coin"
    }
    assert page_parts(given, {"coin": "http://local"}) == {"coin": {"leads_to": "http://local"}}

    async def book() -> httpx.Response:
        transport = httpx.ASGITransport(application(simulator))
        async with httpx.AsyncClient(transport=transport, base_url="http://coin") as client:
            return await client.get("/_fake/book")

    with start_blocking_portal() as portal:
        assert portal.call(book).json()["in"] == []


def test_no_setup_remains_of_a_provider_without_parameters() -> None:
    told = configuration({}, USERS, "eu-central-1")

    assert (told["channels"], told.keys() & set(setups())) == ([], set())


def test_the_page_gets_the_unit_of_the_stack() -> None:
    points = {"UnitName": "points", "UnitSymbol": "pts", "UnitDecimals": "0"}

    units = [configuration({}, USERS | given, "eu-central-1")["unit"] for given in ({}, points)]

    assert units == [
        {"name": "CNY", "symbol": "¥", "decimals": 2},
        {"name": "points", "symbol": "pts", "decimals": 0},
    ]


def test_an_unknown_mode_of_a_simulator_names_the_modes() -> None:
    with pytest.raises(ValueError, match="'out_of_funds' is not a mode; choose one of ok, "):
        Mode("out_of_funds")
