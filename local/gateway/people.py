"""What people do at the gateway: users who pay and confirm, operators at the merchant's console."""

from dataclasses import asdict
from typing import Any

from local.gateway.controls import Posted, Shown, find
from local.gateway.gateway import Body, Gateway
from local.gateway.modes import Mode, Modes
from local.gateway.numbers import openid_of


class People:
    """The controls of one gateway; each takes the body of its route."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway

    def posts(self) -> dict[str, Posted]:
        """Return what can be done."""
        return {
            "mode": self.set_mode,
            "pay": self.pay,
            "confirm": self.confirm,
            "fail": self.fail,
            "refund": self.refund,
            "withdraw_authorization": self.withdraw_authorization,
            "notify": self.notify,
            "advance": self.advance,
            "forget": self.forget,
        }

    def gets(self) -> dict[str, Shown]:
        """Return what can be seen."""
        return {
            "book": self.book,
            "calls": lambda: self._gateway.calls,
            "notifications": lambda: [
                asdict(attempt) for attempt in self._gateway.deliveries.attempts
            ],
        }

    def set_mode(self, body: Body) -> Body:
        """Behave as `mode` says, or as `shares` say, drawn by `seed`."""
        self._gateway.modes = modes = Modes.of(body)
        if Mode.AUTHORIZATION_WITHDRAWN in modes.shares:
            for authorization in self._gateway.transfers.authorizations.values():
                self._gateway.withdraw(authorization, "USER_CLOSE")
        return {"mode": sorted(modes.shares)}

    def pay(self, body: Body) -> Body:
        """Let a user pay `payment_id`; `late` also what is closed, or paid already."""
        order = find(self._gateway.orders.by_number, body["payment_id"])
        payment = self._gateway.orders.pay(
            order,
            openid_of(self._gateway.keys.merchant.app_id, body.get("payer", "somebody")),
            self._gateway.clock.now_ms(),
            body.get("amount_fen"),
            late=bool(body.get("late")),
        )
        self._gateway.tell_payment(order, payment)
        return {"number": order.number, "transaction_id": payment.transaction_id}

    def confirm(self, body: Body) -> Body:
        """Let a user confirm `withdrawal_id`, or agree to `authorization_no`."""
        transfers, now_ms = self._gateway.transfers, self._gateway.clock.now_ms()
        if "authorization_no" in body:
            authorization = transfers.get_authorization(body["authorization_no"])
            authorization.confirm(now_ms)
            self._gateway.tell_ended(authorization)
            return {"number": authorization.number, "state": authorization.state}
        transfer = find(transfers.by_number, body["withdrawal_id"])
        transfers.confirm(transfer.number, now_ms)
        self._gateway.tell_ended(transfer)
        if transfer.authorization_no:
            self._gateway.tell_ended(transfers.authorizations[transfer.authorization_no])
        return {"number": transfer.number, "state": transfer.state}

    def fail(self, body: Body) -> Body:
        """Let `withdrawal_id` fail, for a `reason`."""
        transfer = find(self._gateway.transfers.by_number, body["withdrawal_id"])
        reason = body.get("reason", "ACCOUNT_FROZEN")
        transfer.move("FAIL", self._gateway.clock.now_ms(), reason)
        self._gateway.tell_ended(transfer)
        return {"number": transfer.number, "state": transfer.state}

    def refund(self, body: Body) -> Body:
        """Give back `amount_fen` of `payment_id` by hand, as an operator at the console."""
        order = find(self._gateway.orders.by_number, body["payment_id"])
        now_ms = self._gateway.clock.now_ms()
        refund = self._gateway.orders.refund_outside(order, body["amount_fen"], now_ms)
        refund.notify_url = order.wanted["notify_url"]
        self._gateway.tell_refund(order, refund)
        return {"number": refund.number}

    def withdraw_authorization(self, body: Body) -> Body:
        """Let a user end their consent `authorization_no`."""
        authorization = self._gateway.transfers.get_authorization(body["authorization_no"])
        self._gateway.withdraw(authorization, "USER_CLOSE")
        return {"number": authorization.number, "state": authorization.state}

    def notify(self, body: Body) -> Body:
        """Notify once more of all that `number` came to."""
        number = body["number"]
        if order := self._gateway.orders.by_number.get(number):
            for payment in order.payments:
                self._gateway.tell_payment(order, payment)
        elif number in self._gateway.transfers.authorizations:
            self._gateway.tell_ended(self._gateway.transfers.authorizations[number])
        else:
            self._gateway.tell_ended(self._gateway.transfers.get(number))
        return {"number": number}

    def advance(self, body: Body) -> Body:
        """Put the gateway's clock forward by `ms`."""
        self._gateway.clock.advance(body["ms"])
        self._gateway.lapse()
        return {"now_ms": self._gateway.clock.now_ms()}

    def forget(self, _: Body) -> None:
        """Begin again with empty books."""
        self._gateway.forget()

    def book(self) -> dict[str, list[dict[str, Any]]]:
        """Return the books, which tests compare with the ledger."""
        self._gateway.lapse()
        now_ms = self._gateway.clock.now_ms()
        return {
            "in": [
                {
                    "number": order.number,
                    "amount_fen": order.wanted["amount"]["total"],
                    "state": order.state(now_ms),
                    "paid_fen": order.paid_fen,
                    "refunded_fen": order.refunded_fen,
                    "transaction_ids": [payment.transaction_id for payment in order.payments],
                }
                for order in self._gateway.orders.by_number.values()
            ],
            "out": [
                {
                    "number": transfer.number,
                    "amount_fen": transfer.amount_fen,
                    "state": transfer.state,
                    "fail_reason": transfer.fail_reason,
                }
                for transfer in self._gateway.transfers.by_number.values()
            ],
            "authorizations": [
                {"number": one.number, "state": one.state}
                for one in self._gateway.transfers.authorizations.values()
            ],
        }
