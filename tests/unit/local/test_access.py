"""Access to a local stack."""

import pytest

from local.access import EVERYWHERE, Access, phone_hint
from local.errors import StackError


def _of(monkeypatch: pytest.MonkeyPatch, **given: str) -> Access:
    for name in ("BIND", "EMBED", "HOST_WALLET_URL", "JWT_ISSUER", "UNIT"):
        monkeypatch.setenv(name, given.get(name, ""))
    return Access.of_environment()


def test_a_stack_serves_this_machine_unless_configured_otherwise(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    access = _of(monkeypatch)

    assert (access, access.host) == (Access("127.0.0.1", ""), "127.0.0.1")
    assert "BIND=0.0.0.0" in phone_hint("http://127.0.0.1:8080")


def test_an_own_wallet_and_issuer_are_taken_from_the_command_line(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    urls = "http://127.0.0.1:18999/wallet", "https://issuer.example/users"

    access = _of(monkeypatch, HOST_WALLET_URL=urls[0], JWT_ISSUER=urls[1])

    assert (access.wallet, access.issuer, access.audience) == (*urls, "redpacket")
    assert access.wallet_secret.name == "wallet.json"


@pytest.mark.parametrize(
    ("given", "unit"),
    [
        ("", "CNY,2,¥"),
        ("points", "points,0,points"),
        ("gems,2", "gems,2,gems"),
        ("points,0,积分", "points,0,积分"),
    ],
)
def test_a_unit_is_taken_from_the_command_line(
    monkeypatch: pytest.MonkeyPatch, given: str, unit: str
) -> None:
    assert _of(monkeypatch, UNIT=given).unit == unit


def test_a_phone_gets_the_page_as_a_qr_code_and_an_address(monkeypatch: pytest.MonkeyPatch) -> None:
    assert _of(monkeypatch, BIND=EVERYWHERE).bind == EVERYWHERE
    hint = phone_hint("http://192.0.2.7:8080")

    assert "http://192.0.2.7:8080/" in hint
    assert hint.count("\n") > 10
    assert "any user" in hint


@pytest.mark.parametrize(
    "given",
    [
        {"EMBED": "localhost:5173"},
        {"EMBED": "http://a.example/path"},
        {"BIND": "192.0.2.7"},
        {"HOST_WALLET_URL": "127.0.0.1:18999"},
        {"JWT_ISSUER": "issuer.example"},
        {"UNIT": "points,3"},
    ],
)
def test_an_invalid_option_is_refused(
    monkeypatch: pytest.MonkeyPatch, given: dict[str, str]
) -> None:
    with pytest.raises(StackError):
        _of(monkeypatch, **given)
