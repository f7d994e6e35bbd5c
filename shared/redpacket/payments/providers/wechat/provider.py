"""WeChat Pay as a provider of JSAPI and native payments and of merchant transfers."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Generic, TypeVar
from urllib.parse import quote

from redpacket.ledger.provider_name import ProviderName
from redpacket.payments.model.provider import (
    Merchant,
    OrderFound,
    OrderState,
    PaymentOrder,
    PayMethod,
    RefundFound,
    RefundOrder,
    RefundState,
    Refusal,
    StatementLine,
    Transaction,
    TransferFound,
    TransferOrder,
    TransferState,
)
from redpacket.payments.ports import CALL_MS_MAX, QUERY_HORIZON_MS, SETTLING_MS
from redpacket.payments.providers.wechat.client import Answer, WeChatClient
from redpacket.payments.providers.wechat.statements import StatementReader
from redpacket.payments.sealed_accounts import Accounts
from redpacket.platform.errors import Unavailable

PartSettings = TypeVar("PartSettings")

_PAY = "/v3/pay/transactions"
_REFUNDS = "/v3/refund/domestic/refunds"
_TRANSFERS = "/v3/fund-app/mch-transfer/transfer-bills"
_MS_PER_S = 1_000

# The provider's documentation spells these codes both ways.
_NO_ORDER = frozenset({"ORDER_NOT_EXIST", "ORDERNOTEXIST"})
_TAKES_NOTHING = frozenset(
    {"ORDERPAID", "ORDER_PAID", "ORDER_CLOSED", "ORDERCLOSED", "OUT_TRADE_NO_USED"}
)
_ORDER_STATES = {
    "SUCCESS": OrderState.PAID,
    # Paid and then refunded, in whole or in part: see `Transaction.is_refunded`.
    "REFUND": OrderState.PAID,
    "NOTPAY": OrderState.UNPAID,
    "USERPAYING": OrderState.UNPAID,
    "CLOSED": OrderState.CLOSED,
}
_REFUND_STATES = {
    "SUCCESS": RefundState.SUCCEEDED,
    "PROCESSING": RefundState.PROCESSING,
    # The payer's bank rejected the refund; an operator can complete it in the merchant's console.
    "ABNORMAL": RefundState.PROCESSING,
    "CLOSED": RefundState.FAILED,
}
_TRANSFER_STATES = {
    "ACCEPTED": TransferState.PROCESSING,
    "PROCESSING": TransferState.PROCESSING,
    "WAIT_USER_CONFIRM": TransferState.AWAITING_CONFIRMATION,
    "TRANSFERING": TransferState.PROCESSING,
    "SUCCESS": TransferState.SUCCEEDED,
    "FAIL": TransferState.FAILED,
    "CANCELING": TransferState.CANCELLING,
    "CANCELLED": TransferState.CANCELLED,
}
_REFUSALS = {
    "FREQUENCY_LIMITED": Refusal.THROTTLED,
    "FREQUENCY_LIMIT_EXCEED": Refusal.THROTTLED,
    "RATELIMIT_EXCEEDED": Refusal.THROTTLED,
    "NOT_ENOUGH": Refusal.OUT_OF_FUNDS,
    "USER_NOT_AUTHORIZED": Refusal.NOT_AUTHORIZED,
    "PARAM_ERROR": Refusal.OTHER,
    "INVALID_REQUEST": Refusal.OTHER,
    "NO_AUTH": Refusal.OTHER,
    "APPID_MCHID_NOT_MATCH": Refusal.OTHER,
}
"""Refusals, keyed by code. Other codes mean an unknown outcome, because WeChat may add codes."""


@dataclass(frozen=True, slots=True)
class OrderSettings:
    """Settings that all orders share."""

    notify_url: str
    description: str


@dataclass(frozen=True, slots=True)
class TransferSettings:
    """Settings that all transfers share, with the reports that WeChat requires for a scene."""

    notify_url: str
    scene_id: str
    remark: str
    report_infos: tuple[tuple[str, str], ...]
    """Pairs of type and content, such as ("活动名称", "新会员有礼")."""
    perception: str = ""


class _WeChatPay(Generic[PartSettings]):
    channel = ProviderName.WECHAT
    settling_ms = SETTLING_MS
    call_ms_max = CALL_MS_MAX

    def __init__(
        self,
        client: WeChatClient,
        accounts: Accounts,
        settings: PartSettings,
        now_ms: Callable[[], int],
    ) -> None:
        self.merchant = Merchant(client.merchant.app_id, client.merchant.mch_id)
        self._client = client
        self._accounts = accounts
        self._settings = settings
        self._now_ms = now_ms
        self._statements = StatementReader(client, now_ms)


class WeChatIn(_WeChatPay[OrderSettings]):
    """WeChat Pay implementation of PaymentProvider."""

    currency = "CNY"

    def order(self, order: PaymentOrder) -> Mapping[str, str] | None:
        body: dict[str, Any] = {
            "appid": self.merchant.app_id,
            "mchid": self.merchant.mch_id,
            "description": self._settings.description,
            "out_trade_no": order.number,
            "time_expire": _rfc3339(order.expires_at_ms),
            "notify_url": self._settings.notify_url,
            "amount": {"total": order.amount_fen, "currency": self.currency},
        }
        if order.payer is not None and order.method is PayMethod.JSAPI:
            body["payer"] = {"openid": self._accounts.open(order.payer)}
        answer = self._client.post(f"{_PAY}/{order.method}", body)
        if answer.code in _TAKES_NOTHING:
            return None
        if not answer.is_ok:
            raise _unknown(answer)
        if order.method is PayMethod.NATIVE:
            return {"code_url": _text(answer, "code_url")}
        return self._signed_for_client(_text(answer, "prepay_id"))

    def query(self, number: str) -> OrderFound:
        answer = self._client.get(
            f"{_PAY}/out-trade-no/{quote(number, safe='')}?mchid={self.merchant.mch_id}"
        )
        if answer.code in _NO_ORDER:
            return OrderFound(OrderState.NOT_FOUND)
        if not answer.is_ok or answer.body.get("out_trade_no") != number:
            raise _unknown(answer)
        state = _of(_ORDER_STATES, answer, "trade_state")
        paid = (self._transaction(answer),) if state is OrderState.PAID else ()
        return OrderFound(state, paid)

    def query_transaction(self, transaction_id: str) -> Transaction | None:
        answer = self._client.get(
            f"{_PAY}/id/{quote(transaction_id, safe='')}?mchid={self.merchant.mch_id}"
        )
        if answer.code in _NO_ORDER:
            return None
        if not answer.is_ok or answer.body.get("transaction_id") != transaction_id:
            raise _unknown(answer)
        is_paid = _of(_ORDER_STATES, answer, "trade_state") is OrderState.PAID
        return self._transaction(answer) if is_paid else None

    def close(self, number: str) -> None:
        answer = self._client.post(
            f"{_PAY}/out-trade-no/{quote(number, safe='')}/close", {"mchid": self.merchant.mch_id}
        )
        if not answer.is_ok and answer.code not in _TAKES_NOTHING | _NO_ORDER:
            raise _unknown(answer)

    def refund(self, order: RefundOrder) -> RefundFound:
        answer = self._client.post(
            _REFUNDS,
            {
                "transaction_id": order.transaction_id,
                "out_refund_no": order.refund_no,
                "notify_url": self._settings.notify_url,
                "amount": {"refund": order.amount_fen, "total": order.total_fen, "currency": "CNY"},
            },
        )
        return self._refund_found(answer, order.refund_no)

    def query_refund(self, refund_no: str) -> RefundFound:
        answer = self._client.get(f"{_REFUNDS}/{quote(refund_no, safe='')}")
        if answer.code == "RESOURCE_NOT_EXISTS":
            return RefundFound(refund_no, RefundState.NOT_FOUND)
        return self._refund_found(answer, refund_no)

    def read_statement(self, day: str) -> list[StatementLine] | None:
        return self._statements.trades(day)

    def _signed_for_client(self, prepay_id: str) -> Mapping[str, str]:
        timestamp = str(self._now_ms() // _MS_PER_S)
        nonce, package = secrets.token_hex(16), f"prepay_id={prepay_id}"
        return {
            "appId": self.merchant.app_id,
            "timeStamp": timestamp,
            "nonceStr": nonce,
            "package": package,
            "signType": "RSA",
            "paySign": self._client.sign(self.merchant.app_id, timestamp, nonce, package),
        }

    def _transaction(self, answer: Answer) -> Transaction:
        amount, payer = _object(answer, "amount"), answer.body.get("payer", {})
        openid = payer.get("openid") if isinstance(payer, dict) else None
        return Transaction(
            transaction_id=_text(answer, "transaction_id"),
            number=_text(answer, "out_trade_no"),
            amount_fen=_fen(answer, amount.get("total")),
            currency=str(amount.get("currency", "")),
            merchant=Merchant(_text(answer, "appid"), _text(answer, "mchid")),
            payer_hash=self._accounts.hash_of(openid) if isinstance(openid, str) else None,
            paid_at_ms=_ms(answer, "success_time"),
            is_refunded=answer.body.get("trade_state") == "REFUND",
        )

    @staticmethod
    def _refund_found(answer: Answer, refund_no: str) -> RefundFound:
        if not answer.is_ok or answer.body.get("out_refund_no") != refund_no:
            raise _unknown(answer)
        state = _of(_REFUND_STATES, answer, "status")
        is_over = state is RefundState.SUCCEEDED
        return RefundFound(
            refund_no,
            state,
            number=_text(answer, "out_trade_no"),
            transaction_id=_text(answer, "transaction_id"),
            amount_fen=_fen(answer, _object(answer, "amount").get("refund")),
            refunded_at_ms=_ms(answer, "success_time") if is_over else 0,
        )


class WeChatOut(_WeChatPay[TransferSettings]):
    """WeChat Pay implementation of PayoutProvider."""

    needs_consent = True
    locks_money = True
    query_horizon_ms = QUERY_HORIZON_MS

    def details(self) -> str:
        return json.dumps(asdict(self._settings), ensure_ascii=False, sort_keys=True)

    def transfer(self, order: TransferOrder) -> TransferFound:
        answer = self._client.post(*self._request(order))
        if answer.code == "ALREADY_EXISTS":
            return TransferFound(TransferState.PROCESSING)
        if not answer.is_ok:
            if refusal := _REFUSALS.get(answer.code):
                return TransferFound(TransferState.REFUSED, refusal=refusal, reason=answer.code)
            raise _unknown(answer)
        return self._parsed(answer, order.transfer_no)

    def query(self, transfer_no: str) -> TransferFound:
        answer = self._client.get(f"{_TRANSFERS}/out-bill-no/{quote(transfer_no, safe='')}")
        if answer.code == "NOT_FOUND":
            return TransferFound(TransferState.NOT_FOUND)
        if not answer.is_ok:
            raise _unknown(answer)
        return self._parsed(answer, transfer_no)

    def cancel(self, transfer_no: str) -> None:
        answer = self._client.post(f"{_TRANSFERS}/out-bill-no/{quote(transfer_no, safe='')}/cancel")
        if not answer.is_ok and answer.code not in {"INVALID_REQUEST", "NOT_FOUND"}:
            raise _unknown(answer)

    def read_statement(self, day: str) -> list[StatementLine] | None:
        return self._statements.transfers(day)

    def _request(self, order: TransferOrder) -> tuple[str, dict[str, Any]]:
        told = json.loads(order.details)
        body: dict[str, Any] = {
            "appid": self.merchant.app_id,
            "out_bill_no": order.transfer_no,
            "transfer_scene_id": told["scene_id"],
            "transfer_amount": order.amount_fen,
            "transfer_remark": told["remark"],
            "transfer_scene_report_infos": [
                {"info_type": kind, "info_content": content}
                for kind, content in told["report_infos"]
            ],
        }
        if told["perception"]:
            body["user_recv_perception"] = told["perception"]
        if order.authorization_no is not None:
            # The consent replaces the openid, and polling replaces the notify_url.
            return f"{_TRANSFERS}/transfer", body | {"out_authorization_no": order.authorization_no}
        return _TRANSFERS, body | {
            "openid": self._accounts.open(order.payee),
            "notify_url": told["notify_url"],
        }

    def _parsed(self, answer: Answer, transfer_no: str) -> TransferFound:
        if answer.body.get("out_bill_no") != transfer_no:
            raise _unknown(answer)
        state = _of(_TRANSFER_STATES, answer, "state")
        amount, openid = answer.body.get("transfer_amount"), answer.body.get("openid")
        decided = "update_time" if "update_time" in answer.body else "create_time"
        is_over = state in {
            *(TransferState.SUCCEEDED, TransferState.FAILED, TransferState.CANCELLED)
        }
        return TransferFound(
            state,
            outside_no=_text(answer, "transfer_bill_no"),
            amount_fen=None if amount is None else _fen(answer, amount),
            payee_hash=self._accounts.hash_of(openid) if isinstance(openid, str) else None,
            decided_at_ms=_ms(answer, decided) if is_over else 0,
            confirmation=str(answer.body.get("package_info", "")),
            reason=str(answer.body.get("fail_reason", "")),
        )


def _unknown(answer: Answer) -> Unavailable:
    code = answer.code or "an answer that does not match the request"
    return Unavailable(f"the gateway answered {answer.status}, {code}")


def _of(states: Mapping[str, Any], answer: Answer, name: str) -> Any:  # noqa: ANN401 - one of several enums
    word = answer.body.get(name)
    if not isinstance(word, str) or word not in states:
        raise Unavailable(f"the gateway returned an unknown {name}")
    return states[word]


def _text(answer: Answer, name: str) -> str:
    value = answer.body.get(name)
    if not isinstance(value, str) or not value:
        raise Unavailable(f"the gateway's answer lacks {name}")
    return value


def _object(answer: Answer, name: str) -> Mapping[str, Any]:
    value = answer.body.get(name)
    if not isinstance(value, dict):
        raise Unavailable(f"the gateway's answer lacks {name}")
    return value


def _fen(answer: Answer, value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise Unavailable(f"the gateway answered {answer.status} with an unreadable amount")
    return value


def _ms(answer: Answer, name: str) -> int:
    try:
        read = datetime.fromisoformat(_text(answer, name))
    except ValueError:
        raise Unavailable(f"the gateway's answer has an unreadable {name}") from None
    return int(read.timestamp()) * _MS_PER_S


def _rfc3339(at_ms: int) -> str:
    return (datetime.fromtimestamp(0, UTC) + timedelta(seconds=at_ms // _MS_PER_S)).isoformat()
