"""Network addresses under which sign-ins are counted: callers cannot choose them."""

import pytest

from redpacket.payments.api.client_network import client_network
from redpacket.platform.http.request import HttpRequest
from redpacket.platform.settings import settings

EDGE = "130.176.1.1"
VIEWER = "203.0.113.7"


def _network(
    monkeypatch: pytest.MonkeyPatch, origin: str, forwarded: str = "", source_ip: str = EDGE
) -> str:
    monkeypatch.setitem(settings.variables, "CLIENT_ADDRESS", origin)
    headers = {"x-forwarded-for": forwarded} if forwarded else {}
    return client_network(HttpRequest({}, {}, headers, {}, b"", source_ip))


def test_without_a_distribution_it_is_the_caller_of_the_gateway(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert _network(monkeypatch, "source", "1.1.1.1, 2.2.2.2", VIEWER) == VIEWER


@pytest.mark.parametrize(
    "forwarded", [VIEWER, f"{VIEWER}, {EDGE}", f"1.1.1.1, {VIEWER}", f"1.1.1.1,{VIEWER},{EDGE}"]
)
def test_behind_a_distribution_it_is_the_last_viewer(
    monkeypatch: pytest.MonkeyPatch, forwarded: str
) -> None:
    assert _network(monkeypatch, "forwarded", forwarded) == VIEWER


def test_no_user_is_limited_by_a_shared_or_chosen_address(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert _network(monkeypatch, "", VIEWER) == ""
    assert _network(monkeypatch, "forwarded") == ""
    assert _network(monkeypatch, "forwarded", EDGE) == ""


def test_all_addresses_of_a_customer_network_have_one_budget(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    one, other = "2001:db8:1:2::1", "2001:db8:1:2:ffff::9"

    assert _network(monkeypatch, "source", source_ip=one) == "2001:db8:1:2::/64"
    assert _network(monkeypatch, "forwarded", f"{other}, {EDGE}") == "2001:db8:1:2::/64"
