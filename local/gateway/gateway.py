"""The gateway: what each call of API v3 does to its books, and whom it tells."""

import gzip
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from hashlib import sha1
from typing import Any

from local.gateway import bill_files
from local.gateway.clock import BEIJING, MS_PER_S, Clock
from local.gateway.deliveries import RETRY_MS, Deliveries
from local.gateway.errors import Refused, invalid_request, parameter_error
from local.gateway.keys import GatewayKeys
from local.gateway.modes import BILL, Mode, Modes
from local.gateway.notices import Event
from local.gateway.numbers import digest
from local.gateway.orders import Order, Orders, Payment, Refund, refund_shown, transaction
from local.gateway.transfers import Authorization, Transfer, Transfers

BILL_READY_AFTER = timedelta(days=1, hours=10)
Body = dict[str, Any]
Answer = tuple[int, Body | None]


@dataclass(frozen=True, slots=True)
class Call:
    """A request whose signature is right."""

    number: str
    query: dict[str, str]
    body: Body

    @property
    def subject(self) -> str:
        """The number that it is about."""
        names = ("out_trade_no", "out_refund_no", "out_bill_no", "out_authorization_no")
        return self.number or next((str(self.body[n]) for n in names if n in self.body), "")


Handler = Callable[[Call], Answer]


class Gateway:
    """The gateway and everything it remembers."""

    def __init__(
        self, keys: GatewayKeys, base_url: str, retry_ms: tuple[int, ...] = RETRY_MS
    ) -> None:
        self.keys = keys
        self.base_url = base_url
        self.clock = Clock()
        self.calls: list[str] = []
        self.deliveries = Deliveries(lambda: self.modes, retry_ms)
        self.forget()

    def forget(self) -> None:
        """Begin again with empty books, keys and clock as they are."""
        self.modes = Modes()
        self.orders = Orders()
        self.transfers = Transfers()
        self.bills: dict[str, bytes] = {}
        self.calls.clear()
        self.deliveries.forget()

    def tell(
        self, url: str | None, kind: str, original_type: str, subject: str, told: Body
    ) -> None:
        """Send a notification, where the merchant named an address for it."""
        if url:
            self.deliveries.send(Event.of(self.keys, url, kind, original_type, subject, told))

    def tell_payment(self, order: Order, payment: Payment) -> None:
        """Notify of a payment."""
        told = transaction(order, payment, self.clock.now_ms()) | {"trade_state": "SUCCESS"}
        url = order.wanted["notify_url"]
        self.tell(url, "TRANSACTION.SUCCESS", "transaction", order.number, told)

    def tell_refund(self, order: Order, refund: Refund) -> None:
        """Notify of a refund that has reached the payer."""
        shown = refund_shown(order, refund, "SUCCESS")
        told = shown | {"mchid": self.keys.merchant.mch_id, "refund_status": shown.pop("status")}
        self.tell(refund.notify_url, "REFUND.SUCCESS", "refund", refund.number, told)

    def tell_ended(self, ended: Transfer | Authorization) -> None:
        """Notify of what a transfer or an authorization came to."""
        if isinstance(ended, Transfer):
            told = ended.described(self.keys.merchant.mch_id)
            kind = "MCHTRANSFER.BILL.FINISHED"
            self.tell(ended.notify_url, kind, "mch_payment", ended.number, told)
            return
        what = "CLOSED" if ended.state == "CLOSED" else "CONFIRMED"
        told = ended.shown() | {"mchid": self.keys.merchant.mch_id}
        url = ended.wanted["authorization_notify_url"]
        self.tell(url, f"MCHTRANSFER.AUTHORIZATION.{what}", "mch_payment", ended.number, told)

    def lapse(self) -> None:
        """End what is overdue by the gateway's clock."""
        for ended in self.transfers.lapse(self.clock.now_ms()):
            self.tell_ended(ended)

    # -- money in

    def create_order(self, kind: str, call: Call) -> Answer:
        """`POST /v3/pay/transactions/{kind}`."""
        self._check_names(call.body)
        closes_at_ms = None
        if until := call.body.get("time_expire"):
            closes_at_ms = int(datetime.fromisoformat(until).timestamp() * MS_PER_S)
        order = self.orders.create(kind, call.body, closes_at_ms, self.clock.now_ms())
        token = digest("prepay", order.number, digits=30)
        if kind == "native":
            return 200, {"code_url": f"weixin://wxpay/bizpayurl?pr={token}"}
        return 200, {"prepay_id": f"wx{token}"}

    def find_order(self, call: Call) -> Answer:
        """`GET /v3/pay/transactions/out-trade-no/{number}`."""
        if call.query.get("mchid") != self.keys.merchant.mch_id:
            raise parameter_error("mchid")
        order = self.orders.query(call.number)
        payment = order.payments[0] if order.payments else None
        return 200, transaction(order, payment, self.clock.now_ms())

    def find_transaction(self, call: Call) -> Answer:
        """`GET /v3/pay/transactions/id/{number}`."""
        for order in self.orders.by_number.values():
            for payment in order.payments:
                if payment.transaction_id == call.number:
                    return 200, transaction(order, payment, self.clock.now_ms())
        raise Refused(404, "ORDER_NOT_EXIST", "no payment has this number")

    def close_order(self, call: Call) -> Answer:
        """`POST /v3/pay/transactions/out-trade-no/{number}/close`."""
        if call.body.get("mchid") != self.keys.merchant.mch_id:
            raise parameter_error("mchid")
        self.orders.close(call.number)
        return 204, None

    def create_refund(self, call: Call) -> Answer:
        """`POST /v3/refund/domestic/refunds`."""
        is_new = call.body.get("out_refund_no") not in self.orders.refunds
        order, refund = self.orders.refund(call.body, self.clock.now_ms())
        if is_new:
            self.tell_refund(order, refund)
        return 200, refund_shown(order, refund, "PROCESSING")

    def find_refund(self, call: Call) -> Answer:
        """`GET /v3/refund/domestic/refunds/{number}`."""
        return 200, refund_shown(*self.orders.find_refund(call.number), "SUCCESS")

    # -- money out

    def create_transfer(self, call: Call) -> Answer:
        """`POST /v3/fund-app/mch-transfer/transfer-bills`, with or without asking for consent."""
        self._check_names(call.body)
        transfer, _ = self.transfers.create(call.body, self.clock.now_ms())
        return 200, transfer.shown(with_package=True)

    def create_authorized_transfer(self, call: Call) -> Answer:
        """`POST /v3/fund-app/mch-transfer/transfer-bills/transfer`."""
        self._check_names(call.body)
        transfer, _ = self.transfers.create_authorized(call.body, self.clock.now_ms())
        return 200, transfer.shown()

    def find_transfer(self, call: Call) -> Answer:
        """`GET .../transfer-bills/out-bill-no/{number}`."""
        transfer = self.transfers.query(call.number)
        return 200, transfer.described(self.keys.merchant.mch_id)

    def cancel_transfer(self, call: Call) -> Answer:
        """`POST .../transfer-bills/out-bill-no/{number}/cancel`."""
        transfer = self.transfers.cancel(call.number, self.clock.now_ms())
        return 200, transfer.shown()

    def create_authorization(self, call: Call) -> Answer:
        """`POST /v3/fund-app/mch-transfer/user-confirm-authorization`."""
        self._check_names(call.body)
        authorization, _ = self.transfers.ask(call.body, self.clock.now_ms())
        shown = authorization.shown(with_package=True)
        names = {"out_authorization_no", "state", "create_time", "package_info"}
        return 200, {name: value for name, value in shown.items() if name in names}

    def find_authorization(self, call: Call) -> Answer:
        """`GET .../user-confirm-authorization/out-authorization-no/{number}`."""
        authorization = self.transfers.get_authorization(call.number)
        with_package = call.query.get("is_display_authorization") == "true"
        return 200, authorization.shown(with_package=with_package)

    def close_authorization(self, call: Call) -> Answer:
        """`POST .../user-confirm-authorization/out-authorization-no/{number}/close`."""
        authorization = self.transfers.get_authorization(call.number)
        self.withdraw(authorization, "CLOSE_VIA_MCH_API")
        return 200, authorization.shown()

    def withdraw(self, authorization: Authorization, reason: str) -> None:
        """End a consent."""
        if authorization.state != "CLOSED":
            authorization.close(reason, self.clock.now_ms())
            self.tell_ended(authorization)

    # -- bills

    def make_trade_bill(self, call: Call) -> Answer:
        """`GET /v3/bill/tradebill`."""
        day = self._bill_day(call)
        return self._bill(call, bill_files.trade_bill(self.orders, day, self.keys.merchant))

    def make_flow_bill(self, call: Call) -> Answer:
        """`GET /v3/bill/fundflowbill`."""
        account = call.query.get("account_type", "BASIC")
        if account not in {"BASIC", "OPERATION"}:
            raise parameter_error("account_type")
        day = self._bill_day(call)
        lines = bill_files.flow_bill(
            self.orders, self.transfers, day, "BASIC" if account == "BASIC" else "OPERATION"
        )
        return self._bill(call, lines)

    def _bill_day(self, call: Call) -> str:
        day = call.query.get("bill_date", "")
        try:
            begins_at = datetime.fromisoformat(day).replace(tzinfo=BEIJING)
        except ValueError:
            raise parameter_error("bill_date") from None
        now_s = self.clock.now_ms() / MS_PER_S
        if now_s < (begins_at + timedelta(days=1)).timestamp():
            raise Refused(400, "NO_STATEMENT_EXIST", "the day is not over")
        if now_s < (begins_at + BILL_READY_AFTER).timestamp():
            raise Refused(400, "STATEMENT_CREATING", "the bill is made at ten")
        return day

    def _bill(self, call: Call, lines: list[str]) -> Answer:
        if not bill_files.has_money(lines):
            raise Refused(400, "NO_STATEMENT_EXIST", "nothing happened on this day")
        mode = self.modes.draw(BILL, call.query["bill_date"])
        if mode is Mode.BILL_LINE_MISSING:
            lines = bill_files.without_a_line(lines)
        if mode is Mode.BILL_LINE_CHANGED:
            lines = bill_files.with_a_changed_line(lines)
        content = "".join(f"{line}\r\n" for line in lines).encode()
        # The hash is of what the file should be; a damaged one differs from it.
        hash_value = sha1(content, usedforsecurity=False).hexdigest()
        if mode is Mode.BILL_DAMAGED:
            content = content[: len(content) // 2]
        if call.query.get("tar_type") == "GZIP":
            content = gzip.compress(content, mtime=0)
        token = secrets.token_hex(16)
        self.bills[token] = content
        return 200, {
            "hash_type": "SHA1",
            "hash_value": hash_value,
            "download_url": f"{self.base_url}/v3/billdownload/file?token={token}",
        }

    def _check_names(self, body: Body) -> None:
        if body.get("appid") != self.keys.merchant.app_id:
            raise Refused(400, "APPID_MCHID_NOT_MATCH", "the merchant has no such appid")
        if body.get("mchid", self.keys.merchant.mch_id) != self.keys.merchant.mch_id:
            raise invalid_request("mchid")
