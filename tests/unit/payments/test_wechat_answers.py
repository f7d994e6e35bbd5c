"""Answers of WeChat Pay: unreadable and unexpected ones mean an unknown outcome."""

import hashlib
import json
from collections.abc import Callable, Mapping
from typing import Any, cast

import pytest

from redpacket.payments.model import provider as gateway
from redpacket.payments.model.authorization import AuthorizationState
from redpacket.payments.providers.wechat.authorizations import WeChatAuthorizations
from redpacket.payments.providers.wechat.client import Answer, WeChatClient, WeChatMerchant
from redpacket.payments.providers.wechat.provider import (
    OrderSettings,
    TransferSettings,
    WeChatIn,
    WeChatOut,
)
from redpacket.payments.providers.wechat.statements import StatementReader
from redpacket.payments.sealed_accounts import AccountKeys, Accounts
from redpacket.platform.errors import AddressRefused, InvariantViolated, Unavailable

MERCHANT = WeChatMerchant("1900000001", "wx1", "5157", "PUB_KEY_ID_1", "", "", "", "")
ACCOUNTS = Accounts(AccountKeys({"1": bytes(64)}, bytes(32)), "wechat/wx1")
NOW_MS = 1_790_000_000_000

PAID = {
    "appid": "wx1",
    "mchid": "1900000001",
    "out_trade_no": "order1",
    "transaction_id": "42",
    "trade_state": "SUCCESS",
    "success_time": "2026-11-22T10:00:00+08:00",
    "payer": {"openid": "o1"},
    "amount": {"total": 100, "currency": "CNY"},
}
REFUNDED = {
    "out_refund_no": "refund1",
    "out_trade_no": "order1",
    "transaction_id": "42",
    "status": "SUCCESS",
    "success_time": "2026-11-22T10:00:00+08:00",
    "amount": {"refund": 100, "total": 100},
}
TRANSFERRED = {
    "out_bill_no": "bill1",
    "transfer_bill_no": "13",
    "state": "SUCCESS",
    "update_time": "2026-11-22T10:00:00+08:00",
    "transfer_amount": 100,
    "openid": "o1",
}


class AnswersOnce:
    """Client that gives the same answer to every call."""

    def __init__(self, status: int, body: Mapping[str, Any], file: bytes = b"") -> None:
        self.merchant = MERCHANT
        self._answer = Answer(status, body)
        self._file = file

    def get(self, _: str) -> Answer:
        return self._answer

    def post(self, _: str, __: Mapping[str, Any] | None = None) -> Answer:
        return self._answer

    def download(self, _: str) -> bytes:
        return self._file


def _client(status: int, body: Mapping[str, Any]) -> WeChatClient:
    return cast("WeChatClient", AnswersOnce(status, body))


def _in(status: int, body: Mapping[str, Any], client: WeChatClient | None = None) -> WeChatIn:
    settings = OrderSettings("https://api.example/callback", "a packet")
    return WeChatIn(client or _client(status, body), ACCOUNTS, settings, lambda: NOW_MS)


def _out(status: int, body: Mapping[str, Any], client: WeChatClient | None = None) -> WeChatOut:
    settings = TransferSettings("https://api.example/callback", "1000", "a packet", (("a", "b"),))
    return WeChatOut(client or _client(status, body), ACCOUNTS, settings, lambda: NOW_MS)


def _transfer(status: int, body: Mapping[str, Any]) -> Any:
    return _call(_out(status, body))


def _call(out: WeChatOut) -> Any:
    return out.transfer(
        gateway.TransferOrder("bill1", 100, ACCOUNTS.seal("o1", "user"), None, out.details())
    )


def _order(status: int, body: Mapping[str, Any]) -> Any:
    order = gateway.PaymentOrder("order1", 100, gateway.PayMethod.NATIVE, None, NOW_MS)
    return _in(status, body).order(order)


def test_valid_answers_are_read() -> None:
    assert _in(200, PAID).query("order1").state is gateway.OrderState.PAID
    assert _in(200, REFUNDED).query_refund("refund1").state is gateway.RefundState.SUCCEEDED
    assert _out(200, TRANSFERRED).query("bill1").state is gateway.TransferState.SUCCEEDED


Ask = Callable[[int, Mapping[str, Any]], Any]
LIES_OF_TRANSFERS: list[dict[str, Any]] = [
    {"out_bill_no": "bill2"},
    {"state": "DONE"},
    {"transfer_bill_no": None},
    {"transfer_amount": "100"},
    {"update_time": "now"},
]
NOT_READ: list[tuple[Ask, dict[str, Any], list[dict[str, Any]]]] = [
    (
        lambda status, body: _in(status, body).query("order1"),
        PAID,
        [
            {"out_trade_no": "order2"},
            *({"trade_state": state} for state in ("ACCEPT", None)),
            *({"transaction_id": number} for number in ("", 42)),
            {"amount": None},
            *({"amount": {"total": fen, "currency": "CNY"}} for fen in ("100", True, -1, 1.0)),
            {"success_time": "yesterday"},
            {"appid": None},
            {"mchid": None},
        ],
    ),
    (
        lambda status, body: _in(status, body).query_refund("refund1"),
        REFUNDED,
        [
            {"out_refund_no": "refund2"},
            {"status": "DONE"},
            {"amount": {}},
            {"transaction_id": None},
            {"success_time": None},
        ],
    ),
    (lambda status, body: _out(status, body).query("bill1"), TRANSFERRED, LIES_OF_TRANSFERS),
    (_transfer, TRANSFERRED, LIES_OF_TRANSFERS),
]


def test_an_unreadable_answer_is_unknown() -> None:
    for ask, body, lies in NOT_READ:
        for changes in lies:
            with pytest.raises(Unavailable):
                pytest.fail(f"{changes}: {ask(200, body | changes)}")


@pytest.mark.parametrize(
    ("ask", "code"),
    [
        (lambda s, b: _in(s, b).query("order1"), "NOT_FOUND"),
        (lambda s, b: _in(s, b).query("order1"), ""),
        (lambda s, b: _in(s, b).query_transaction("42"), "RESOURCE_NOT_EXISTS"),
        (lambda s, b: _in(s, b).query_refund("refund1"), "NOT_FOUND"),
        (lambda s, b: _out(s, b).query("bill1"), "RESOURCE_NOT_EXISTS"),
        (lambda s, b: _out(s, b).query("bill1"), ""),
    ],
)
def test_only_an_answer_of_the_gateway_itself_proves_absence(
    ask: Callable[[int, Mapping[str, Any]], Any], code: str
) -> None:
    """A proxy can also return 404."""
    with pytest.raises(Unavailable):
        ask(404, {"code": code})


@pytest.mark.parametrize("status", [400, 401, 403, 404, 409, 429])
def test_a_refusal_without_a_known_reason_is_an_unknown_outcome(status: int) -> None:
    for code in ("", "SOMETHING_NEW", "SIGN_ERROR", "SYSTEM_ERROR", None, 7):
        for ask in (_transfer, _order):
            with pytest.raises(Unavailable):
                ask(status, {"code": code})


@pytest.mark.parametrize(
    ("code", "refusal"),
    [
        ("FREQUENCY_LIMITED", gateway.Refusal.THROTTLED),
        ("NOT_ENOUGH", gateway.Refusal.OUT_OF_FUNDS),
        ("USER_NOT_AUTHORIZED", gateway.Refusal.NOT_AUTHORIZED),
        ("PARAM_ERROR", gateway.Refusal.OTHER),
    ],
)
def test_a_refusal_with_a_known_reason_has_it(code: str, refusal: gateway.Refusal) -> None:
    transfer = _transfer(400, {"code": code, "message": "words for people"})

    assert (transfer.state, transfer.refusal, transfer.reason) == (
        gateway.TransferState.REFUSED,
        refusal,
        code,
    )


class TakesNoCallFromHere(WeChatClient):
    """Client whose calls WeChat refuses, because the source address is not registered."""

    def __init__(self) -> None:
        self.merchant = MERCHANT

    def _request(self, *_: object, **__: object) -> tuple[int, str | bytes]:
        told = {"code": "INVALID_REQUEST", "message": "此IP地址不允许调用接口，请按开发指引设置"}
        return 400, json.dumps(told)


def test_a_refused_source_address_refuses_no_withdrawal() -> None:
    """The merchant's settings are wrong, so the money waits for a successful call."""
    client = TakesNoCallFromHere()
    orders, transfers = _in(400, {}, client), _out(400, {}, client)
    consents = WeChatAuthorizations(client, ACCOUNTS, notify_url="", scene_id="1000")
    asks: list[Callable[[], object]] = [
        lambda: _call(transfers),
        lambda: transfers.query("bill1"),
        lambda: transfers.cancel("bill1"),
        lambda: orders.query("order1"),
        lambda: consents.query("consent1"),
        lambda: consents.close("consent1"),
    ]

    for ask in asks:
        with pytest.raises(AddressRefused):
            ask()


def test_a_number_that_is_already_being_executed_is_in_progress() -> None:
    transfer = _transfer(400, {"code": "ALREADY_EXISTS"})

    assert transfer.state is gateway.TransferState.PROCESSING


@pytest.mark.parametrize("code", ["ORDERPAID", "ORDER_CLOSED", "OUT_TRADE_NO_USED"])
def test_an_order_that_accepts_no_payment_has_no_prompt(code: str) -> None:
    assert _order(400, {"code": code}) is None


def test_a_refund_that_the_bank_returned_is_not_final() -> None:
    body = REFUNDED | {"status": "ABNORMAL"}

    assert _in(200, body).query_refund("refund1").state is gateway.RefundState.PROCESSING


def test_a_code_is_always_a_code() -> None:
    """Other texts are discarded, because codes are logged and this answer is not authenticated."""
    assert Answer(400, {"code": "PARAM_ERROR"}).code == "PARAM_ERROR"
    for code in ("o1 said: hello", "oLTPCuFqLz-UVHHD67rLX5BxXysI\n", {"a": 1}, "码", None):
        assert Answer(400, {"code": code}).code == ""
    assert len(Answer(400, {"code": "A" * 999}).code) <= 64
    assert Answer(200, {"code": "PARAM_ERROR"}).code == ""


HEADER = "记账时间,微信支付业务单号,业务类型,收支类型,收支金额(元),业务凭证号"
LINE = "`2026-11-22 10:00:00,`13,`商家转账,`支出,`1.5,`bill1"
SUMMARY = ["资金流水总笔数", "`1"]


def _read_file(lines: list[str]) -> Any:
    file = "\r\n".join(lines).encode()
    told = {
        "hash_type": "SHA1",
        "hash_value": hashlib.sha1(file, usedforsecurity=False).hexdigest(),
        "download_url": "https://api.mch.weixin.qq.com/file",
    }
    client = cast("WeChatClient", AnswersOnce(200, told, file))
    return StatementReader(client, lambda: NOW_MS).transfers("2026-11-22")


def test_a_file_is_read_to_the_fen() -> None:
    (line,) = _read_file([HEADER, LINE, *SUMMARY])

    assert (line.number, line.outside_no, line.amount_fen) == ("bill1", "13", 150)
    assert not line.is_return
    assert line.moved_at_ms == 1_795_312_800_000


@pytest.mark.parametrize(
    "lines",
    [
        [HEADER, LINE],
        [HEADER, LINE, SUMMARY[0]],
        [HEADER, LINE + ",`more", *SUMMARY],
        [HEADER, LINE.replace("1.5", "1.555"), *SUMMARY],
        [HEADER, LINE.replace("1.5", "-1.5"), *SUMMARY],
        [HEADER, LINE.replace("1.5", ""), *SUMMARY],
        [HEADER, LINE.replace("1.5", "1,5"), *SUMMARY],
        [HEADER, LINE.replace("1.5", "１.5"), *SUMMARY],
        [HEADER, LINE.replace("2026-11-22", "11-22"), *SUMMARY],
        [],
    ],
)
def test_an_incomplete_file_is_not_read(lines: list[str]) -> None:
    with pytest.raises(Unavailable):
        _read_file(lines)


def test_incoming_money_is_the_return_of_a_transfer() -> None:
    lock, back = _read_file([HEADER, LINE, LINE.replace("支出", "收入"), *SUMMARY[:1], "`2"])

    assert (lock.is_return, back.is_return) == (False, True)
    assert (back.number, back.amount_fen) == ("bill1", 150)


@pytest.mark.parametrize("word", ["", "冻结", "收入/支出", "支出 收入", "expense"])
def test_a_transfer_that_moved_money_in_an_unknown_direction_is_an_error(word: str) -> None:
    with pytest.raises(InvariantViolated, match=f"bill1 has the unknown 收支类型 '{word}'"):
        _read_file([HEADER, LINE.replace("支出", word), *SUMMARY])


def test_another_movement_of_the_account_is_not_a_transfer() -> None:
    assert _read_file([HEADER, LINE.replace("商家转账", "充值"), *SUMMARY]) == []


def test_a_consent_that_can_not_be_displayed_is_queried_without_its_display() -> None:
    """Integrators disagree on whether WeChat answers a query about a pending consent."""
    calls: list[str] = []
    consent = {"out_authorization_no": "consent1", "state": "WAIT_USER_CONFIRM"}

    class RefusesDisplay(AnswersOnce):
        def get(self, path: str) -> Answer:
            calls.append(path)
            is_refused = "is_display_authorization" in path
            return Answer(400, {"code": "INVALID_REQUEST"}) if is_refused else Answer(200, consent)

    client = cast("WeChatClient", RefusesDisplay(200, {}))
    consents = WeChatAuthorizations(client, ACCOUNTS, notify_url="", scene_id="1000")

    assert consents.query("consent1").state is AuthorizationState.AWAITING_CONFIRMATION
    assert [path.partition("?")[2] for path in calls] == ["is_display_authorization=true", ""]
