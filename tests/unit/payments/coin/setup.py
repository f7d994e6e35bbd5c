"""Third provider, which only tests register; the simulator implements all of its parts."""

import hashlib
import hmac
import json
from collections.abc import Mapping
from functools import cached_property
from typing import ClassVar

from redpacket.ledger.provider_name import ProviderName
from redpacket.payments.errors import SignatureInvalid
from redpacket.payments.model.provider import ProviderEvent, ProviderEventKind
from redpacket.payments.ports import (
    CallbackVerifier,
    Logins,
    PaymentProvider,
    PayoutProvider,
    Provider,
    TokenIssuer,
)
from redpacket.payments.token_issuer import IssuerKeys, Rs256Tokens
from testing.payments.fake_gateway import FakeGateway, FakeLogins, FakePaymentsIn, FakePaymentsOut
from tests.unit.payments.coin.settings import CoinSettings


class CoinCallbacks:
    """CallbackVerifier of the coin."""

    def __init__(self, key: str) -> None:
        self._key = key

    def read(self, headers: Mapping[str, str], body: bytes, now_ms: int) -> ProviderEvent:
        signature = signature_of(body, self._key)
        if not hmac.compare_digest(headers.get("coin-signature", ""), signature):
            raise SignatureInvalid("the callback's signature is not the coin's")
        told = json.loads(body)
        return ProviderEvent(ProviderEventKind(told["kind"]), told["id"], told["number"])


class Coin(Provider[CoinSettings]):
    """Payments, transfers, callbacks and sign-in of the coin."""

    settings_type = CoinSettings
    gateway: ClassVar[FakeGateway]

    @cached_property
    def payments(self) -> PaymentProvider | None:
        return FakePaymentsIn(self.gateway, ProviderName("coin"))

    @cached_property
    def payouts(self) -> PayoutProvider | None:
        return FakePaymentsOut(self.gateway, channel=ProviderName("coin"))

    @cached_property
    def callbacks(self) -> CallbackVerifier | None:
        key = self.settings.coin_key
        return CoinCallbacks(key) if key else None

    @cached_property
    def logins(self) -> Logins | None:
        return FakeLogins()

    @cached_property
    def token_issuer(self) -> TokenIssuer | None:
        keys = IssuerKeys.new(self.environment.now_ms())
        url = "https://coin.example"
        return Rs256Tokens(ProviderName("coin"), keys, url=url, audience="a", life_ms=3_600_000)


def signature_of(body: bytes, key: str) -> str:
    return hmac.digest(key.encode(), body, hashlib.sha256).hex()


def registry_line() -> ProviderName:
    """Return the registry's line `COIN = "coin", "...setup:Coin"`."""
    line = ProviderName.__new_member__(ProviderName, "coin", f"{Coin.__module__}:{Coin.__name__}")  # type: ignore[attr-defined]
    line._name_ = "COIN"
    return line
