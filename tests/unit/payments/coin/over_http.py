"""Program in which a user links an account at the coin, pays and withdraws over HTTP; it prints
each answer.

The contract, generated from the same registry, has the coin's routes and fields.
"""

import json
from types import SimpleNamespace
from typing import Any, cast

import httpx

from redpacket.ledger.provider_name import ProviderName
from tests.unit.payments.coin.setup import Coin, registry_line, signature_of

PACKET = {"kind": "equal", "total_fen": 100, "count": 1, "pay_with": "coin"}
KEY = "a key that coin and we share"


def _contract() -> dict[str, list[Any]]:
    """Return the coin's parts of the HTTP contract."""
    from local.openapi import document

    contract, routes = document(), ("/me/coin", "/gateway/coin/callback")
    fields = contract["components"]["schemas"]
    return {
        "tags": [contract["paths"][route]["post"]["tags"][0] for route in routes],
        "fields": ["coin" in fields[form]["required"] for form in ("Payment", "SentPacket")],
        "channels": fields["PaymentBody"]["properties"]["channel"]["enum"],
    }


def main() -> None:
    """Register the coin before any import that reads the registry."""
    line = registry_line()
    members = cast("Any", ProviderName)
    members._member_map_["COIN"] = members._value2member_map_["coin"] = line
    members._member_names_.append("COIN")

    from redpacket.containers import containers
    from redpacket.payments.model.provider import ProviderEvent, ProviderEventKind
    from redpacket.platform.settings import settings
    from testing.in_memory_system import InMemorySystem
    from testing.payments.fake_gateway import FakeGateway, FakeNoticeQueue
    from testing.payments.gateways import account_keys
    from testing.platform.handlers import Context, HandlerTransport, handlers, handlers_of
    from tests.unit.payments.test_third_provider import LIMITS

    system, queue = InMemorySystem(), FakeNoticeQueue()
    gateway = Coin.gateway = FakeGateway(system.clock)
    http = httpx.Client(base_url="https://a", transport=HandlerTransport({"sub": "ann"}))
    told: dict[str, list[Any]] = {}

    def call(step: str, method: str, path: str, *fields: str, **given: Any) -> dict[str, Any]:
        headers = {"idempotency-key": step, **given.pop("headers", {})}
        answer = http.request(method, path, headers=headers, **given)
        body = answer.json() if answer.content else {}
        told[step] = [answer.status_code, *(body.get(field) for field in fields)]
        return dict(body)

    with handlers_of(system):
        settings.variables |= LIMITS  # type: ignore[operator]
        vars(containers.providers).update(notice_queue=queue, payee_keys=(keys := account_keys()))
        vars(containers.packets)["payments"] = SimpleNamespace(
            order=lambda number, host_id: handlers()["order"](
                {"payment_id": number, "host_id": host_id}, Context()
            )
        )
        call("link before", "GET", "/me/coin", "is_bound")
        call("link", "POST", "/me/coin", "is_bound", json={"code": "code-ann"})
        ask = {"amount_fen": 500, "channel": "wechat", "method": "native"}
        call("channel without a gateway", "POST", "/me/payments", "code", json=ask)
        payment = call(
            "payment", "POST", "/me/payments", "channel", "coin", json={**ask, "channel": "coin"}
        )
        gateway.pay(payment["payment_id"])
        body = json.dumps({"kind": "payment", "id": "1", "number": payment["payment_id"]}).encode()
        callback, path = {"coin-signature": signature_of(body, KEY)}, "/gateway/coin/callback"
        call("forged callback", "POST", path, "code", content=body)
        call("callback", "POST", path, "code", content=body, headers=callback)
        process = system.process(settings=settings, notice_queue=queue, payee_keys=keys)
        process.follow_notice(line, queue.notices.pop())
        call("paid", "GET", f"/me/payments/{payment['payment_id']}", "status")
        out = {"amount_fen": 100, "channel": "coin"}
        call("withdrawal", "POST", "/me/withdrawals", "channel", json=out)
        sent = call("packet", "POST", "/packets", "status", "coin", "wechat", json=PACKET)
        gateway.pay(sent["payment_id"])
        process.follow_notice(
            line, ProviderEvent(ProviderEventKind.PAYMENT, "2", sent["payment_id"])
        )
        call("packet paid", "GET", f"/packets/{sent['packet_id']}", "status")
        settings.variables["COIN_KEY"] = ""  # type: ignore[index]
        del vars(containers.providers)["providers"], vars(containers.providers)["callbacks"]
        vars(containers.payments).pop("callback_ports")
        call("callback without the setting", "POST", path, "code", content=body, headers=callback)
    print(json.dumps(told | _contract()))  # noqa: T201 - the test reads it


if __name__ == "__main__":
    main()
