"""A third provider, which only tests register: every part of it stands on the simulator."""

import hashlib
import hmac
import json
from collections.abc import Mapping
from functools import cached_property
from typing import ClassVar

from redpacket.payments.errors import SignatureInvalid
from redpacket.payments.login_ports import Logins
from redpacket.payments.model.provider import ProviderEvent, ProviderEventKind
from redpacket.payments.model.provider_name import ProviderName
from redpacket.payments.provider_ports import (
    CallbackVerifier,
    PaymentProvider,
    PayoutProvider,
    Provider,
)
from testing.fakes.gateway import FakeGateway, FakeLogins, FakePaymentsIn, FakePaymentsOut

KEY = b"a key that coin and we share"


class CoinCallbacks:
    """Implements CallbackVerifier."""

    def read(self, headers: Mapping[str, str], body: bytes, now_ms: int) -> ProviderEvent:
        if not hmac.compare_digest(headers.get("coin-signature", ""), signature_of(body)):
            raise SignatureInvalid("the callback's signature is not the coin's")
        told = json.loads(body)
        return ProviderEvent(ProviderEventKind(told["kind"]), told["id"], told["number"])


class Coin(Provider):
    """Payments, transfers, callbacks and sign-in of the coin."""

    gateway: ClassVar[FakeGateway]

    @cached_property
    def payments(self) -> PaymentProvider | None:
        return FakePaymentsIn(self.gateway, ProviderName("coin"))

    @cached_property
    def payouts(self) -> PayoutProvider | None:
        return FakePaymentsOut(self.gateway, channel=ProviderName("coin"))

    @cached_property
    def callbacks(self) -> CallbackVerifier | None:
        return CoinCallbacks()

    @cached_property
    def logins(self) -> Logins | None:
        return FakeLogins()


def signature_of(body: bytes) -> str:
    return hmac.digest(KEY, body, hashlib.sha256).hex()
