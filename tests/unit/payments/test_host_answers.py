"""Answers of a host's wallet: unreadable and misdirected ones are unknown outcomes."""

import json
import time
from collections.abc import Callable, Mapping
from typing import Any, cast

import pytest

from local.gateways.host.simulator import signed_headers
from redpacket.payments.errors import SignatureInvalid
from redpacket.payments.model.provider import TransferState
from redpacket.payments.providers.host_wallet.client import HostClient, HostKeys
from redpacket.payments.providers.host_wallet.provider import HostCallbacks, HostIn, HostOut
from redpacket.payments.sealed_accounts import AccountKeys, Accounts
from redpacket.platform.errors import Unavailable
from redpacket.platform.ssrf_safe_http import HttpAnswer, HttpClient

CALLS, RESULTS = "whsec_Y2FsbHM=", "whsec_cmVzdWx0cw=="
ACCOUNTS = Accounts(AccountKeys({"1": bytes(64)}, bytes(32)), "host")
ORDER = {"number": "order1", "state": "unpaid", "transactions": []}
PAID = {
    "transaction_id": "in1",
    "number": "order1",
    "amount_fen": 100,
    "currency": "CNY",
    "user": "alice",
    "paid_at_ms": 1,
}
TRANSFER = {
    "bill_no": "bill1",
    "state": "succeeded",
    "outside_no": "out1",
    "amount_fen": 100,
    "user": "alice",
    "decided_at_ms": 1,
}


def _client(answer: Callable[[str, Mapping[str, str], bytes], HttpAnswer]) -> HostClient:
    class Answering:
        def post(self, body: bytes, headers: Mapping[str, str]) -> HttpAnswer:
            return answer(json.loads(body)["type"], headers, body)

    return HostClient(HostKeys(CALLS, RESULTS), cast("HttpClient", Answering()))


def _saying(
    data: Any,
    *,
    status: int = 200,
    kind: str | None = None,
    message_id: str | None = None,
    secret: str = RESULTS,
    changes: Callable[[bytes], bytes] = bytes,
) -> HostClient:
    def answer(called: str, headers: Mapping[str, str], _: bytes) -> HttpAnswer:
        body = json.dumps({"type": kind or f"{called}.answer", "data": data}).encode()
        signed = signed_headers(secret, message_id or headers["webhook-id"], body)
        return HttpAnswer(status, signed, changes(body))

    return _client(answer)


def _query(client: HostClient) -> Any:
    return HostIn(client, ACCOUNTS).query("order1")


def _query_transfer(client: HostClient) -> Any:
    return HostOut(client, ACCOUNTS).query("bill1")


def test_valid_answers_are_read() -> None:
    assert _query(_saying(ORDER))
    assert _query_transfer(_saying(TRANSFER)).state is TransferState.SUCCEEDED


@pytest.mark.parametrize(
    "changes",
    [
        {"message_id": "call_of_another"},
        {"kind": "payment.close.answer"},
        {"kind": "payment.query"},
        {"secret": CALLS},
        {"status": 201},
        {"status": 500},
        {"changes": lambda body: body + b" "},
    ],
)
def test_an_answer_that_is_not_signed_for_this_call_is_unknown(changes: dict[str, Any]) -> None:
    with pytest.raises(Unavailable):
        _query(_saying(ORDER, **changes))


def test_a_reflected_call_is_not_an_answer() -> None:
    client = _client(lambda _, headers, body: HttpAnswer(200, dict(headers), body))

    with pytest.raises(Unavailable):
        _query(client)


def test_an_unreadable_answer_is_unknown() -> None:
    orders: list[Any] = [
        None,
        [],
        ORDER | {"number": "order2"},
        ORDER | {"state": "done"},
        *(ORDER | {"transactions": transactions} for transactions in (None, [None])),
        *(
            ORDER | {"transactions": [PAID | {name: value}]}
            for name, value in (
                ("number", "order2"),
                ("amount_fen", "100"),
                ("amount_fen", True),
                ("amount_fen", -1),
                ("transaction_id", ""),
                ("paid_at_ms", None),
            )
        ),
    ]
    transfers: list[dict[str, Any]] = [
        {"bill_no": "bill2"},
        {"state": "done"},
        {"state": "refused", "refusal": "other"},
        {"outside_no": None},
        {"amount_fen": 1.0},
        {"decided_at_ms": "now"},
    ]
    for order in orders:
        with pytest.raises(Unavailable):
            pytest.fail(f"{order}: {_query(_saying(order))}")
    for changes in transfers:
        with pytest.raises(Unavailable):
            pytest.fail(f"{changes}: {_query_transfer(_saying(TRANSFER | changes))}")


@pytest.mark.parametrize("kind", ["payment", "refund", "transfer", "balance", "authorization"])
def test_a_wallet_reports_only_payments_refunds_and_transfers(kind: str) -> None:
    """A callback about any other kind of object is refused."""
    now_ms = int(time.time() * 1000)
    body = json.dumps({"type": f"{kind}.done", "data": {"number": "1"}}).encode()
    headers = signed_headers(RESULTS, "msg_1", body)
    callbacks = HostCallbacks(_saying(ORDER))

    if kind in {"payment", "refund", "transfer"}:
        assert callbacks.read(headers, body, now_ms).kind == kind
    else:
        with pytest.raises(SignatureInvalid):
            callbacks.read(headers, body, now_ms)


@pytest.mark.parametrize("lines", ["", {}, [None], [{"kind": "gift"}]])
def test_an_unreadable_statement_is_unknown(lines: Any) -> None:
    host = HostIn(_saying({"lines": lines}), ACCOUNTS)

    with pytest.raises(Unavailable):
        host.read_statement("2026-11-22")
