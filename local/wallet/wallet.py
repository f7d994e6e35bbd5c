"""The wallet: what each call does to its books, and whom it tells."""

from collections.abc import Callable
from datetime import datetime

from local.gateway.clock import BEIJING, MS_PER_S, Clock, day_of
from local.gateway.deliveries import RETRY_MS, Deliveries
from local.gateway.modes import BILL, HIDDEN_QUERIES, Mode, Modes
from local.wallet.books import Body, Books, Order, Transfer
from local.wallet.results import Result
from local.wallet.signatures import WalletSecrets

DAY_S = 24 * 60 * 60
Call = Callable[[Body, Mode], Body]


class Wallet:
    """The wallet and everything it remembers."""

    def __init__(
        self, secrets: WalletSecrets, callback_url: str, retry_ms: tuple[int, ...] = RETRY_MS
    ) -> None:
        self.secrets = secrets
        self.callback_url = callback_url
        self.clock = Clock()
        self.calls: list[str] = []
        self.deliveries = Deliveries(lambda: self.modes, retry_ms)
        self.forget()

    def forget(self) -> None:
        """Begin again with empty books."""
        self.modes = Modes()
        self.books = Books()
        self.calls.clear()
        self.deliveries.forget()

    def tell(self, kind: str, number: str, outside_no: str) -> None:
        """Send a result."""
        result = Result.of(self.secrets, self.callback_url, kind, number, outside_no)
        self.deliveries.send(result)

    def tell_transfer(self, transfer: Transfer) -> None:
        """Send what a transfer came to."""
        number = transfer.wanted["bill_no"]
        self.tell(f"transfer.{transfer.state}", number, transfer.outside_no)

    def lapse(self) -> None:
        """End what is overdue by the wallet's clock."""
        for transfer in self.books.lapse(self.clock.now_ms()):
            self.tell_transfer(transfer)

    def handlers(self) -> dict[str, Call]:
        """Return what each type of call does."""
        return {
            "payment.order": self.order,
            "payment.query": self.find_order,
            "payment.find": self.find_transaction,
            "payment.close": self.close_order,
            "refund.order": self.refund,
            "refund.query": self.find_refund,
            "transfer.order": self.transfer,
            "transfer.query": self.find_transfer,
            "transfer.cancel": self.cancel_transfer,
            "bill.read": self.read_bill,
        }

    def order(self, wanted: Body, mode: Mode) -> Body:
        """Announce a payment."""
        order = self.books.order(wanted)
        _hide(order, mode)
        client = {"pay_url": f"wallet://pay/{wanted['number']}"}
        return order.shown(self.clock.now_ms()) | {"client": client}

    def find_order(self, wanted: Body, _: Mode) -> Body:
        """Tell where an order stands."""
        order = self.books.orders.get(wanted["number"])
        if order is None or _is_hidden(order):
            return {"number": wanted["number"], "state": "not_found", "transactions": []}
        return order.shown(self.clock.now_ms())

    def find_transaction(self, wanted: Body, _: Mode) -> Body:
        """Return a payment by the wallet's own id."""
        for order in self.books.orders.values():
            for transaction in order.transactions:
                if transaction["transaction_id"] == wanted["transaction_id"]:
                    return {"transaction": transaction}
        return {"transaction": None}

    def close_order(self, wanted: Body, _: Mode) -> Body:
        """Take no payment for an order from now on."""
        if (order := self.books.orders.get(wanted["number"])) and not order.transactions:
            order.is_closed = True
        return self.find_order(wanted, Mode.OK)

    def refund(self, wanted: Body, _: Mode) -> Body:
        """Give a payment back."""
        refund, is_given = self.books.refund(wanted, self.clock.now_ms())
        if is_given:
            self.tell("refund.succeeded", refund["refund_no"], f"back{refund['refund_no']}")
        return refund

    def find_refund(self, wanted: Body, _: Mode) -> Body:
        """Tell where a refund stands."""
        unknown = {"refund_no": wanted["refund_no"], "state": "not_found"}
        return self.books.refunds.get(wanted["refund_no"], unknown)

    def transfer(self, wanted: Body, mode: Mode) -> Body:
        """Pay a user."""
        is_known = wanted["bill_no"] in self.books.transfers
        if not is_known and mode is Mode.REFUSES_CALLS:
            return _refused(wanted, "out_of_funds")
        if not is_known and mode is Mode.AUTHORIZATION_WITHDRAWN and wanted["authorization_no"]:
            return _refused(wanted, "not_authorized")
        is_asked = mode is Mode.ASKS_CONFIRMATION and not wanted["authorization_no"]
        state = "awaiting_confirmation" if is_asked else "processing"
        transfer, is_new = self.books.transfer(wanted, state, self.clock.now_ms())
        if is_new and not is_asked:
            is_refused = mode is Mode.REFUSES
            came_to = ("failed", "account_frozen") if is_refused else ("succeeded", "")
            transfer.move(came_to[0], self.clock.now_ms(), came_to[1])
            self.tell_transfer(transfer)
        _hide(transfer, mode)
        return transfer.shown()

    def find_transfer(self, wanted: Body, _: Mode) -> Body:
        """Tell where a transfer stands."""
        transfer = self.books.transfers.get(wanted["bill_no"])
        if transfer is None or _is_hidden(transfer):
            return _unknown(wanted)
        return transfer.shown()

    def cancel_transfer(self, wanted: Body, _: Mode) -> Body:
        """Begin to take a transfer back that the user has not confirmed."""
        transfer = self.books.transfers.get(wanted["bill_no"])
        if transfer and transfer.state == "awaiting_confirmation":
            transfer.move("cancelling", self.clock.now_ms())
        return transfer.shown() if transfer else _unknown(wanted)

    def read_bill(self, wanted: Body, _: Mode) -> Body:
        """Return what moved on a day; nothing before the day is over."""
        begins_at = datetime.fromisoformat(wanted["day"]).replace(tzinfo=BEIJING)
        if self.clock.now_ms() < (begins_at.timestamp() + DAY_S) * MS_PER_S:
            return {"lines": None}
        moved = self._incoming() if wanted["kind"] == "in" else self._outgoing()
        lines = [line for line in moved if day_of(line["moved_at_ms"]) == wanted["day"]]
        mode = self.modes.draw(BILL, wanted["day"])
        if lines and mode is Mode.BILL_LINE_MISSING:
            lines = lines[1:]
        if lines and mode is Mode.BILL_LINE_CHANGED:
            lines = [lines[0] | {"amount_fen": lines[0]["amount_fen"] + 1}, *lines[1:]]
        return {"lines": lines}

    def _incoming(self) -> list[Body]:
        payments = [
            {
                "kind": "payment",
                "number": paid["number"],
                "outside_no": paid["transaction_id"],
                "amount_fen": paid["amount_fen"],
                "moved_at_ms": paid["paid_at_ms"],
            }
            for order in self.books.orders.values()
            for paid in order.transactions
        ]
        refunds = [
            {
                "kind": "refund",
                "number": refund["refund_no"],
                "outside_no": f"back{refund['refund_no']}",
                "amount_fen": refund["amount_fen"],
                "moved_at_ms": refund["refunded_at_ms"],
                "of_number": refund["number"],
            }
            for refund in self.books.refunds.values()
            if refund["state"] == "succeeded"
        ]
        return payments + refunds

    def _outgoing(self) -> list[Body]:
        return [
            {
                "kind": "transfer",
                "number": transfer.wanted["bill_no"],
                "outside_no": transfer.outside_no,
                "amount_fen": transfer.wanted["amount_fen"],
                "moved_at_ms": transfer.updated_at_ms,
            }
            for transfer in self.books.transfers.values()
            if transfer.state == "succeeded"
        ]


def _hide(made: Order | Transfer, mode: Mode) -> None:
    if mode is Mode.NOT_FOUND_THEN_FOUND and not made.hidden_queries:
        made.hidden_queries = made.queries + HIDDEN_QUERIES


def _is_hidden(made: Order | Transfer) -> bool:
    made.queries += 1
    return made.queries <= made.hidden_queries


def _unknown(wanted: Body) -> Body:
    return {"bill_no": wanted["bill_no"], "state": "not_found"}


def _refused(wanted: Body, refusal: str) -> Body:
    number = wanted["bill_no"]
    return {"bill_no": number, "state": "refused", "refusal": refusal, "reason": refusal}
