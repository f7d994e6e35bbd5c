"""The gateway's book of money in: orders, payments and refunds."""

import re
from dataclasses import dataclass, field
from typing import Any

from local.gateway.clock import rfc3339
from local.gateway.errors import Refused, invalid_request, parameter_error
from local.gateway.numbers import digest

NUMBER = re.compile(r"[0-9A-Za-z_*-]{6,32}")
# What the gateway gives an order that names no end.
ORDER_LIFE_MS = 2 * 60 * 60 * 1_000


@dataclass(slots=True)
class Payment:
    """What one user paid for an order."""

    transaction_id: str
    openid: str
    amount_fen: int
    paid_at_ms: int


@dataclass(slots=True)
class Refund:
    """What went back to a payer; without a number where the merchant's console did it."""

    refund_id: str
    number: str
    amount_fen: int
    created_at_ms: int
    notify_url: str | None
    transaction_id: str


@dataclass(slots=True)
class Order:
    """What a user may pay, once."""

    number: str
    kind: str
    wanted: dict[str, Any]
    created_at_ms: int
    closes_at_ms: int
    is_closed: bool = False
    payments: list[Payment] = field(default_factory=list)
    refunds: list[Refund] = field(default_factory=list)
    queries: int = 0
    hidden_queries: int = 0

    @property
    def refunded_fen(self) -> int:
        """What went back so far."""
        return sum(refund.amount_fen for refund in self.refunds)

    @property
    def paid_fen(self) -> int:
        """What came in, refunds not taken off."""
        return sum(payment.amount_fen for payment in self.payments)

    def state(self, now_ms: int) -> str:
        """Return the word of API v3 for where this order stands."""
        if self.refunds:
            return "REFUND"
        if self.payments:
            return "SUCCESS"
        return "CLOSED" if self.is_closed or now_ms >= self.closes_at_ms else "NOTPAY"


class Orders:
    """All orders of the merchant."""

    def __init__(self) -> None:
        self.by_number: dict[str, Order] = {}
        self.refunds: dict[str, tuple[Order, Refund]] = {}

    def create(
        self, kind: str, wanted: dict[str, Any], closes_at_ms: int | None, now_ms: int
    ) -> Order:
        """Make an order, or return the one that this same request made before."""
        number = str(wanted.get("out_trade_no", ""))
        if not NUMBER.fullmatch(number):
            raise parameter_error("out_trade_no: 6 to 32 of 0-9A-Za-z_-*")
        amount = wanted.get("amount", {})
        if not _is_amount(amount.get("total")) or amount.get("currency", "CNY") != "CNY":
            raise parameter_error("amount.total: a whole number of fen, at least 1, in CNY")
        if kind == "jsapi" and not wanted.get("payer", {}).get("openid"):
            raise parameter_error("payer.openid is missing")
        if not wanted.get("description") or "?" in str(wanted.get("notify_url", "?")):
            raise parameter_error("description, or a notify_url without parameters, is missing")
        if known := self.by_number.get(number):
            return _same(known, kind, wanted, now_ms)
        order = Order(number, kind, wanted, now_ms, closes_at_ms or now_ms + ORDER_LIFE_MS)
        self.by_number[number] = order
        return order

    def get(self, number: str) -> Order:
        """Return an order."""
        if number not in self.by_number:
            raise Refused(404, "ORDER_NOT_EXIST", "no order has this number")
        return self.by_number[number]

    def query(self, number: str) -> Order:
        """Return an order as a query sees it, which may be late."""
        order = self.get(number)
        order.queries += 1
        if order.queries <= order.hidden_queries:
            raise Refused(404, "ORDER_NOT_EXIST", "no order has this number")
        return order

    def close(self, number: str) -> None:
        """Close an order that is not paid."""
        order = self.get(number)
        if order.payments:
            raise Refused(400, "ORDERPAID", "the order is paid")
        order.is_closed = True

    def pay(
        self,
        order: Order,
        openid: str,
        now_ms: int,
        amount_fen: int | None = None,
        *,
        late: bool = False,
    ) -> Payment:
        """Let a user pay; *late*: they did so at the moment when the order was closed."""
        if not late and order.state(now_ms) != "NOTPAY":
            raise Refused(409, "NOT_PAYABLE", f"the order is {order.state(now_ms)}")
        payment = Payment(
            f"42{digest('transaction', order.number, len(order.payments), digits=26)}",
            order.wanted.get("payer", {}).get("openid") or openid,
            order.wanted["amount"]["total"] if amount_fen is None else amount_fen,
            now_ms,
        )
        order.payments.append(payment)
        return payment

    def refund(self, wanted: dict[str, Any], now_ms: int) -> tuple[Order, Refund]:
        """Pay back a part or all of an order, once for each number."""
        number = str(wanted.get("out_refund_no", ""))
        amount = wanted.get("amount", {})
        order, payment = self._paid(wanted)
        if not NUMBER.fullmatch(number) or not _is_amount(amount.get("refund")):
            raise parameter_error("out_refund_no or amount.refund")
        if amount.get("total") != payment.amount_fen:
            raise invalid_request("amount.total is not what was paid")
        if known := self.refunds.get(number):
            if known[0] is not order or known[1].amount_fen != amount["refund"]:
                raise invalid_request("this out_refund_no was used for another refund")
            return known
        given = sum(
            r.amount_fen for r in order.refunds if r.transaction_id == payment.transaction_id
        )
        if given + amount["refund"] > payment.amount_fen:
            raise invalid_request("more than was paid")
        refund = self._refunded(order, payment, number, amount["refund"], now_ms)
        refund.notify_url = wanted.get("notify_url")
        self.refunds[number] = order, refund
        return order, refund

    def refund_outside(self, order: Order, amount_fen: int, now_ms: int) -> Refund:
        """Pay back by hand, as people do in the merchant's console, with a number of no caller."""
        if not order.payments or order.refunded_fen + amount_fen > order.paid_fen:
            raise Refused(409, "NOT_REFUNDABLE", "more than was paid")
        number = f"console{digest('console', order.number, len(order.refunds), digits=20)}"
        refund = self._refunded(order, order.payments[0], number, amount_fen, now_ms)
        self.refunds[number] = order, refund
        return refund

    def find_refund(self, number: str) -> tuple[Order, Refund]:
        """Return a refund and its order."""
        if number not in self.refunds:
            raise Refused(404, "RESOURCE_NOT_EXISTS", "no refund has this number")
        return self.refunds[number]

    def _paid(self, wanted: dict[str, Any]) -> tuple[Order, Payment]:
        for order in self.by_number.values():
            for payment in order.payments:
                if wanted.get("transaction_id") == payment.transaction_id or (
                    "transaction_id" not in wanted and wanted.get("out_trade_no") == order.number
                ):
                    return order, payment
        raise Refused(404, "RESOURCE_NOT_EXISTS", "no such payment")

    @staticmethod
    def _refunded(
        order: Order, payment: Payment, number: str, amount_fen: int, now_ms: int
    ) -> Refund:
        refund = Refund(
            f"50{digest('refund', number, digits=27)}",
            *(number, amount_fen, now_ms, None, payment.transaction_id),
        )
        order.refunds.append(refund)
        return refund


def transaction(order: Order, payment: Payment | None, now_ms: int) -> dict[str, Any]:
    """Return an order as queries and notifications show it."""
    state = order.state(now_ms)
    shown = {
        "appid": order.wanted["appid"],
        "mchid": order.wanted["mchid"],
        "out_trade_no": order.number,
        "attach": order.wanted.get("attach", ""),
        "trade_state": state,
        "trade_state_desc": state,
        "trade_type": order.kind.upper(),
    }
    if payment is None:
        return shown | {"amount": {"total": order.wanted["amount"]["total"], "currency": "CNY"}}
    return shown | {
        "transaction_id": payment.transaction_id,
        "bank_type": "OTHERS",
        "success_time": rfc3339(payment.paid_at_ms),
        "payer": {"openid": payment.openid},
        "amount": {
            "total": payment.amount_fen,
            "payer_total": payment.amount_fen,
            "currency": "CNY",
            "payer_currency": "CNY",
        },
    }


def refund_shown(order: Order, refund: Refund, status: str) -> dict[str, Any]:
    """Return a refund as calls and queries show it."""
    total = next(p.amount_fen for p in order.payments if p.transaction_id == refund.transaction_id)
    return {
        "refund_id": refund.refund_id,
        "out_refund_no": refund.number,
        "transaction_id": refund.transaction_id,
        "out_trade_no": order.number,
        "channel": "ORIGINAL",
        "user_received_account": "支付用户零钱",
        "create_time": rfc3339(refund.created_at_ms),
        "success_time": rfc3339(refund.created_at_ms),
        "status": status,
        "amount": {
            "total": total,
            "refund": refund.amount_fen,
            "payer_total": total,
            "payer_refund": refund.amount_fen,
            "settlement_refund": refund.amount_fen,
            "settlement_total": total,
            "discount_refund": 0,
            "currency": "CNY",
        },
    }


def _same(known: Order, kind: str, wanted: dict[str, Any], now_ms: int) -> Order:
    if known.kind != kind or known.wanted != wanted:
        raise invalid_request("out_trade_no was used with other parameters")
    if known.payments:
        raise Refused(400, "ORDERPAID", "the order is paid")
    if known.state(now_ms) == "CLOSED":
        raise Refused(400, "ORDER_CLOSED", "the order is closed")
    return known


def _is_amount(value: Any) -> bool:  # noqa: ANN401 - JSON
    return isinstance(value, int) and not isinstance(value, bool) and value > 0
