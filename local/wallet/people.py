"""What people do at the wallet: users who pay and confirm, operators at its console."""

from dataclasses import asdict
from typing import Any

from local.gateway.controls import Posted, Shown, find
from local.gateway.modes import Mode, Modes
from local.wallet.books import Body
from local.wallet.wallet import Wallet


class People:
    """The controls of one wallet, as those of the gateway; each takes the body of its route."""

    def __init__(self, wallet: Wallet) -> None:
        self._wallet = wallet

    def posts(self) -> dict[str, Posted]:
        """Return what can be done."""
        return {
            "mode": self.set_mode,
            "pay": self.pay,
            "confirm": self.confirm,
            "fail": self.fail,
            "refund": self.refund,
            "notify": self.notify,
            "advance": self.advance,
            "forget": self.forget,
        }

    def gets(self) -> dict[str, Shown]:
        """Return what can be seen."""
        return {
            "book": self.book,
            "calls": lambda: self._wallet.calls,
            "notifications": lambda: [asdict(one) for one in self._wallet.deliveries.attempts],
        }

    def set_mode(self, body: Body) -> Body:
        """Behave as `mode` says, or as `shares` say, drawn by `seed`."""
        self._wallet.modes = Modes.of(body)
        return {"mode": sorted(self._wallet.modes.shares)}

    def pay(self, body: Body) -> Body:
        """Let a user pay `payment_id`."""
        paid = self._wallet.books.pay(
            find(self._wallet.books.orders, body["payment_id"]),
            body.get("payer", "somebody"),
            self._wallet.clock.now_ms(),
            body.get("amount_fen"),
            late=bool(body.get("late")),
        )
        self._wallet.tell("payment.paid", paid["number"], paid["transaction_id"])
        return {"number": paid["number"], "transaction_id": paid["transaction_id"]}

    def confirm(self, body: Body) -> Body:
        """Let a user confirm `withdrawal_id`; it wins over a cancel that is under way."""
        transfer = find(self._wallet.books.transfers, body["withdrawal_id"])
        transfer.move("succeeded", self._wallet.clock.now_ms())
        self._wallet.tell_transfer(transfer)
        return {"number": transfer.wanted["bill_no"], "state": transfer.state}

    def fail(self, body: Body) -> Body:
        """Let `withdrawal_id` fail, for a `reason`."""
        transfer = find(self._wallet.books.transfers, body["withdrawal_id"])
        reason = body.get("reason", "account_frozen")
        transfer.move("failed", self._wallet.clock.now_ms(), reason)
        self._wallet.tell_transfer(transfer)
        return {"number": transfer.wanted["bill_no"], "state": transfer.state}

    def refund(self, body: Body) -> Body:
        """Give back `amount_fen` of `payment_id` by hand."""
        order = find(self._wallet.books.orders, body["payment_id"])
        wanted = {
            "refund_no": f"console{order.wanted['number']}{len(order.refunds)}"[-32:],
            "number": order.wanted["number"],
            "transaction_id": order.transactions[0]["transaction_id"],
            "amount_fen": body["amount_fen"],
        }
        return {"number": self._wallet.refund(wanted, Mode.OK)["refund_no"]}

    def notify(self, body: Body) -> Body:
        """Tell once more what `number` came to."""
        number = body["number"]
        if order := self._wallet.books.orders.get(number):
            for paid in order.transactions:
                self._wallet.tell("payment.paid", number, paid["transaction_id"])
        else:
            self._wallet.tell_transfer(find(self._wallet.books.transfers, number))
        return {"number": number}

    def advance(self, body: Body) -> Body:
        """Put the wallet's clock forward by `ms`."""
        self._wallet.clock.advance(body["ms"])
        self._wallet.lapse()
        return {"now_ms": self._wallet.clock.now_ms()}

    def forget(self, body: Body) -> None:
        """Begin again with empty books; tell a new `callback_url`, where one is given."""
        self._wallet.callback_url = body.get("callback_url", self._wallet.callback_url)
        self._wallet.forget()

    def book(self) -> dict[str, list[dict[str, Any]]]:
        """Return the books, which tests compare with the ledger."""
        self._wallet.lapse()
        now_ms, books = self._wallet.clock.now_ms(), self._wallet.books
        return {
            "in": [
                {
                    "number": number,
                    "amount_fen": order.wanted["amount_fen"],
                    "state": order.state(now_ms),
                    "paid_fen": sum(paid["amount_fen"] for paid in order.transactions),
                    "refunded_fen": sum(back["amount_fen"] for back in order.refunds),
                    "transaction_ids": [paid["transaction_id"] for paid in order.transactions],
                }
                for number, order in books.orders.items()
            ],
            "out": [
                {
                    "number": number,
                    "amount_fen": transfer.wanted["amount_fen"],
                    "state": transfer.state,
                    "fail_reason": transfer.reason,
                }
                for number, transfer in books.transfers.items()
            ],
        }
