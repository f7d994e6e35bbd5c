"""Fake provider and wallet: they refuse invalid calls, and execute each number once."""

import json
import time
from base64 import b64decode
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from local.gateways.host.simulator import AGE_S_MAX, OTHERS_SECRET, signed_headers
from local.gateways.policy import Mode
from local.gateways.wechat.wire import make_private_key, private_text, public_text
from redpacket.payments.model.provider import OrderState, RefundOrder, TransferOrder, TransferState
from redpacket.payments.providers.wechat.client import WeChatClient, WeChatMerchant
from redpacket.platform.errors import Unavailable
from testing.payments.gateways import CALL_MS_MAX, Received, Side, WeChatSide, a_number, wait_until

PATH = "/v3/fund-app/mch-transfer/transfer-bills"


def _signed(side: WeChatSide, path: str, body: dict[str, Any] | None) -> httpx.Request:
    """Return a request that the library signed, for a test to change and send."""
    from wechatpayv3.utils import build_authorization

    core = side.client._pay._core
    method = "GET" if body is None else "POST"
    authorization = build_authorization(
        *(path, method, side.merchant.mch_id, side.merchant.cert_serial, core._private_key),
        data=body,
    )
    headers = {"Authorization": authorization, "Content-Type": "application/json"}
    content = json.dumps(body) if body else None
    return httpx.Request(method, side.fake.url + path, headers=headers, content=content)


def _send(request: httpx.Request) -> httpx.Response:
    with httpx.Client(trust_env=False) as client:
        return client.send(request)


def test_a_request_that_the_merchant_did_not_sign_is_refused(wechat: WeChatSide) -> None:
    body = {"out_bill_no": "bill1", "transfer_amount": 100}
    true = _signed(wechat, PATH, body)
    given = true.headers["Authorization"]

    def changed(url: str = "", content: bytes = true.content, authorization: str = given) -> int:
        headers = {"Authorization": authorization} if authorization else {}
        request = httpx.Request("POST", url or true.url, headers=headers, content=content)
        answer = _send(request)
        assert answer.json()["code"] == "SIGN_ERROR"
        return answer.status_code

    statuses = [
        changed(content=b'{"more": 1}'),
        changed(url=f"{true.url}?a=1"),
        changed(authorization=""),
        changed(authorization=given.replace('timestamp="1', 'timestamp="9')),
        changed(authorization=given.replace(wechat.merchant.mch_id, "1999999999")),
        changed(authorization=given.replace(wechat.merchant.cert_serial, "00")),
        changed(authorization=given.replace("WECHATPAY2", "WECHATPAY3")),
    ]

    # The real request is signed correctly, but lacks an appid.
    assert _send(true).json()["code"] == "APPID_MCHID_NOT_MATCH"
    assert set(statuses) == {401}
    assert not wechat.fake.show("book")["out"]


def test_calls_with_either_certificate_are_answered_during_a_rotation(
    wechat: WeChatSide,
) -> None:
    old = wechat.merchant
    certificate = {"cert_serial": "AB" * 20, "private_key": private_text(make_private_key())}
    new = replace(old, **certificate)
    path = f"/v3/pay/transactions/out-trade-no/{a_number()}?mchid={old.mch_id}"

    def code(merchant: WeChatMerchant) -> str:
        client = WeChatClient(merchant, gateway_url=wechat.fake.url, call_ms_max=CALL_MS_MAX)
        return client.get(path).code

    assert code(new) == "SIGN_ERROR"
    file = wechat.keys_folder / "merchant.json"
    before = file.read_text()
    file.write_text(json.dumps(json.loads(before) | certificate))
    try:
        assert [code(new), code(old)] == ["ORDER_NOT_EXIST"] * 2
    finally:
        file.write_text(before)


ORDERS = "/v3/pay/transactions/native"
REFUNDS = "/v3/refund/domestic/refunds"


def _order_body(side: WeChatSide, **changes: Any) -> dict[str, Any]:
    in_an_hour = datetime.fromtimestamp(side.now_ms() / 1_000, UTC) + timedelta(hours=1)
    return {
        "appid": side.merchant.app_id,
        "mchid": side.merchant.mch_id,
        "description": "a packet",
        "out_trade_no": a_number(),
        "notify_url": side.inbox.url,
        "amount": {"total": 100, "currency": "CNY"},
        "time_expire": in_an_hour.isoformat(timespec="seconds"),
        **changes,
    }


def _code(side: WeChatSide, path: str, body: dict[str, Any] | None) -> tuple[int, str]:
    answer = _send(_signed(side, path, body))
    # The simulator also signs refusals.
    assert "Wechatpay-Signature" in answer.headers
    return answer.status_code, answer.json().get("code", "")


@pytest.mark.parametrize(
    "changes",
    [
        {"description": "x" * 128},
        {"description": 1},
        {"attach": "x" * 129},
        {"attach": ""},
        {"time_expire": "2020-01-01T00:00:00+08:00"},
        {"time_expire": "tomorrow"},
        {"time_expire": "2099-13-01T00:00:00+08:00"},
        {"time_expire": "2099-01-01"},
        {"amount": [100]},
        {"payer": "somebody"},
    ],
    ids=str,
)
def test_an_order_that_wechat_would_refuse_is_refused(
    wechat: WeChatSide, changes: dict[str, Any]
) -> None:
    assert _code(wechat, ORDERS, _order_body(wechat, **changes)) == (400, "PARAM_ERROR")
    assert not wechat.fake.show("book")["in"]


def test_an_openid_has_the_required_form(wechat: WeChatSide) -> None:
    body = _order_body(wechat, payer={"openid": "x"})

    path = ORDERS.replace("native", "jsapi")
    assert _code(wechat, path, body) == (400, "PARAM_ERROR")


def test_a_number_is_not_reused_for_another_order(wechat: WeChatSide) -> None:
    body = _order_body(wechat)

    assert _code(wechat, ORDERS, body)[0] == 200
    assert _code(wechat, ORDERS, body)[0] == 200
    assert _code(wechat, ORDERS, body | {"attach": "y"}) == (403, "OUT_TRADE_NO_USED")


def test_a_refund_names_its_payment_by_either_number_and_its_currency(wechat: WeChatSide) -> None:
    order = wechat.order(amount_fen=100)
    wechat.payments_in.order(order)
    wechat.fake.do("pay", payment_id=order.number)
    amount = {"refund": 1, "total": 100, "currency": "CNY"}
    refund = {
        "out_trade_no": order.number,
        "out_refund_no": a_number(),
        "amount": amount,
        "notify_url": wechat.inbox.url,
    }

    answer = _send(_signed(wechat, REFUNDS, refund)).json()
    no_currency = refund | {"out_refund_no": a_number(), "amount": {"refund": 1, "total": 100}}
    no_payment = {name: refund[name] for name in ("out_refund_no", "amount")}

    assert (answer["status"], answer["out_trade_no"]) == ("PROCESSING", order.number)
    assert "success_time" not in answer
    assert _code(wechat, REFUNDS, no_currency) == (400, "PARAM_ERROR")
    assert _code(wechat, REFUNDS, no_payment) == (404, "RESOURCE_NOT_EXISTS")
    told = [_opened(wechat, received) for received in wechat.inbox.wait_for(2)]
    amounts = [each["amount"] for each in told if "refund_id" in each]
    assert [each.keys() for each in amounts] == [{"total", "refund", "payer_total", "payer_refund"}]


def _opened(side: WeChatSide, received: Received) -> Any:
    sealed = json.loads(received.body)["resource"]
    key = AESGCM(side.merchant.api_v3_key.encode())
    nonce, more = (sealed[name].encode() for name in ("nonce", "associated_data"))
    return json.loads(key.decrypt(nonce, b64decode(sealed["ciphertext"]), more))


def test_a_cancellation_has_the_time_at_which_the_transfer_changed(wechat: WeChatSide) -> None:
    order = wechat.transfer()
    wechat.payments_out.transfer(order)

    answer = _send(_signed(wechat, f"{PATH}/out-bill-no/{order.transfer_no}/cancel", {})).json()

    assert answer.keys() == {"out_bill_no", "transfer_bill_no", "state", "update_time"}


@pytest.mark.parametrize("query", ["bill_type=MORE", "tar_type=ZIP", "bill_date=2026-W01-1"])
def test_a_missing_statement_is_refused(wechat: WeChatSide, query: str) -> None:
    query_text = query if "bill_date" in query else f"bill_date=2026-01-01&{query}"

    assert _code(wechat, f"/v3/bill/tradebill?{query_text}", None) == (400, "PARAM_ERROR")


def test_an_answer_without_the_signature_of_the_gateway_is_unknown(wechat: WeChatSide) -> None:
    """The signature does not verify with any public key except WeChat's."""
    order = wechat.order()
    wechat.payments_in.order(order)
    path = f"/v3/pay/transactions/out-trade-no/{order.number}?mchid={wechat.merchant.mch_id}"
    other_key = replace(wechat.merchant, public_key=public_text(make_private_key().public_key()))
    client = WeChatClient(other_key, gateway_url=wechat.fake.url, call_ms_max=CALL_MS_MAX)

    assert wechat.client.get(path).is_ok
    with pytest.raises(Unavailable):
        client.get(path)


@pytest.mark.parametrize("forged", ["unsigned", "by another secret", "by the other side", "old"])
def test_an_unsigned_call_of_the_host_is_refused(host: Side, forged: str) -> None:
    number, (ours, theirs), now_s = a_number(), host.secrets, int(time.time())
    data = {"bill_no": number, "amount_fen": 1, "currency": "CNY", "user": "me"}
    told = {"type": "transfer.order", "data": data | {"authorization_no": None}}
    body = json.dumps(told).encode()
    headers = {
        "unsigned": {},
        "by another secret": signed_headers(OTHERS_SECRET, "call_1", body),
        "by the other side": signed_headers(theirs, "call_1", body),
        "old": signed_headers(ours, "call_1", body, now_s - AGE_S_MAX - 60),
    }[forged]

    answer = httpx.post(host.url, content=body, headers=headers, trust_env=False)

    assert answer.status_code == 401
    assert host.payments_out.query(number).state is TransferState.NOT_FOUND
    assert number not in host.fake.paid_out()


def test_only_their_owner_can_read_the_keys(wechat: WeChatSide) -> None:
    files = sorted(wechat.keys_folder.glob("*.[jp][se]*"))

    assert [file.name for file in files] == ["gateway.pem", "merchant.json"]
    assert [file.stat().st_mode & 0o077 for file in files] == [0, 0]


def _until_known(side: Side, order: TransferOrder) -> TransferState:
    """Retry the transfer with the same number until it has succeeded."""
    for _ in range(20):
        try:
            side.payments_out.transfer(order)
            state = side.payments_out.query(order.transfer_no).state
            if state is TransferState.SUCCEEDED:
                return state
        except Unavailable:
            continue
    raise AssertionError("it did not come to an end")


def test_concurrent_repeats_pay_each_number_once(side: Side) -> None:
    """A tenth of the calls time out after paying, and a twentieth before; callbacks may be
    repeated.
    """
    consent: str = a_number()
    if isinstance(side, WeChatSide):
        side.authorizations.ask(consent, side.account("alice"), "alice")
        side.fake.do("confirm", authorization_no=consent)
    shares = {"pays_and_times_out": 0.1, "times_out": 0.05, "duplicate_notifications": 0.2}
    side.fake.do("mode", shares=shares, seed=7, hang_ms=20)
    orders = [side.transfer(authorization_no=consent, amount_fen=10 + n) for n in range(40)]

    with ThreadPoolExecutor(8) as pool:
        states = list(pool.map(lambda order: _until_known(side, order), orders * 2))

    assert set(states) == {TransferState.SUCCEEDED}
    assert {number: line["amount_fen"] for number, line in side.fake.paid_out().items()} == {
        order.transfer_no: order.amount_fen for order in orders
    }


def test_concurrent_payers_pay_each_order_once(side: Side) -> None:
    side.fake.do("mode", shares={"pays_and_times_out": 0.1, "times_out": 0.05}, seed=3, hang_ms=20)
    orders = [side.order(amount_fen=100 + n) for n in range(30)]

    def until(is_done: Callable[[], object]) -> None:
        for _ in range(20):
            try:
                is_done()
            except Unavailable:
                continue
            return
        raise AssertionError("it did not come to an end")

    for order in orders:
        until(lambda order=order: side.payments_in.order(order))  # type: ignore[misc]
        side.fake.do("pay", payment_id=order.number)
    refunded = orders[:10]
    for order in refunded:
        (paid,) = side.payments_in.query(order.number).transactions
        refund = RefundOrder(a_number(), order.number, paid.transaction_id, 1, paid.amount_fen)
        for _ in range(2):
            until(lambda refund=refund: side.payments_in.refund(refund))  # type: ignore[misc]

    book = side.fake.paid_in()
    assert {number: line["paid_fen"] for number, line in book.items()} == {
        order.number: order.amount_fen for order in orders
    }
    assert sum(line["refunded_fen"] for line in book.values()) == len(refunded)
    assert all(side.payments_in.query(order.number).state is OrderState.PAID for order in orders)
    wait_until(lambda: len(side.inbox.received) >= len(orders))


def test_a_slow_gateway_answers_late_and_once(side: Side) -> None:
    side.fake.do("mode", mode="slow", slow_ms=200)
    began_at_s = time.monotonic()

    side.payments_in.order(side.order())

    assert time.monotonic() - began_at_s >= 0.2


def test_an_unknown_mode_is_answered_with_the_list_of_modes(wechat: WeChatSide) -> None:
    address = f"{wechat.fake.url}/_fake/mode"

    answer = httpx.post(address, json={"mode": "explodes"}, trust_env=False)

    assert answer.status_code == 422
    assert "'explodes'" in answer.json()["message"]
    assert all(mode in answer.json()["message"] for mode in Mode)
