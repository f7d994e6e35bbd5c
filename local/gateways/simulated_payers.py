"""Controls of a simulated provider, for tests.

They act as the provider's users and as the merchant's staff, inject faults, and move its clock.
"""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from local.gateways.core import Gateway
from local.gateways.policy import Mode, Policy
from local.gateways.records import Refused, Transfer

Body = dict[str, Any]
Found = TypeVar("Found")


class SimulatedPayers:
    """Controls of one provider; `POST /_fake/<name>` passes its body to the method of this name."""

    def __init__(
        self,
        gateway: Gateway,
        user_of: Callable[[str], str] = str,
        words: Mapping[str, str] | None = None,
    ) -> None:
        self._gateway, self._user_of, self._words = gateway, user_of, words or {}

    def do(self, name: str, body: Body) -> Body:
        """Run the named control."""
        if name.startswith("_") or name in {"do", "book"} or not hasattr(self, name):
            raise Refused(404, "NOT_FOUND", "no such control")
        done: Body = getattr(self, name)(body)
        return done

    def mode(self, body: Body) -> Body:
        """Set one `mode` (local/gateways/policy.py), or `shares` of modes that `seed` draws."""
        self._gateway.policy = policy = Policy.of(body)
        if Mode.AUTHORIZATION_WITHDRAWN in policy.shares:
            self._gateway.end_consents()
        return {"mode": sorted(policy.shares)}

    def pay(self, body: Body) -> Body:
        """Pay `payment_id` as a user. `late` allows an order that is closed or already paid."""
        paid = self._gateway.take_payment(
            find(self._gateway.orders, body["payment_id"]),
            self._user_of(body.get("payer", "somebody")),
            body.get("amount_fen"),
            is_forced=bool(body.get("late")),
        )
        return {"number": paid.number, "transaction_id": paid.outside_no}

    def confirm(self, body: Body) -> Body:
        """Confirm `withdrawal_id`, or agree to `authorization_no`, as its user."""
        if "authorization_no" in body:
            consent = self._gateway.agree(body["authorization_no"])
            return {"number": consent.number, "state": consent.state}
        transfer = find(self._gateway.transfers, body["withdrawal_id"])
        self._gateway.confirm(transfer)
        return self._shown(transfer)

    def fail(self, body: Body) -> Body:
        """Make `withdrawal_id` fail for a `reason`."""
        transfer = find(self._gateway.transfers, body["withdrawal_id"])
        self._gateway.move(transfer, "failed", body.get("reason", "ACCOUNT_FROZEN"))
        return self._shown(transfer)

    def refund(self, body: Body) -> Body:
        """Refund `amount_fen` of `payment_id`, as an operator does in the console."""
        order = find(self._gateway.orders, body["payment_id"])
        return {"number": self._gateway.refund_by_hand(order, body["amount_fen"]).number}

    def withdraw_authorization(self, body: Body) -> Body:
        """Revoke the consent `authorization_no`, as its user."""
        consent = self._gateway.end(body["authorization_no"], "USER_CLOSE")
        return {"number": consent.number, "state": consent.state}

    def notify(self, body: Body) -> Body:
        """Resend notifications about `number`: a consent, transfer, or order (payments only)."""
        self._gateway.tell_again(body["number"])
        return {"number": body["number"]}

    def advance(self, body: Body) -> Body:
        """Advance the provider's clock by `ms`."""
        self._gateway.clock.sleep_ms(body["ms"])
        self._gateway.lapse()
        return {"now_ms": self._gateway.clock.now_ms()}

    def book(self) -> dict[str, list[Body]]:
        """Return the books, which tests compare with the ledger."""
        gateway = self._gateway
        gateway.lapse()
        orders, now_ms = gateway.orders.values(), gateway.clock.now_ms()
        return {
            "in": [
                {
                    "number": order.number,
                    "amount_fen": order.amount_fen,
                    "state": self._words.get(order.state(now_ms), order.state(now_ms)),
                    "paid_fen": sum(paid.amount_fen for paid in order.transactions),
                    "refunded_fen": sum(refund.amount_fen for refund in order.refunds),
                    "transaction_ids": [paid.outside_no for paid in order.transactions],
                }
                for order in orders
            ],
            "out": [
                self._shown(transfer)
                | {"amount_fen": transfer.amount_fen, "fail_reason": transfer.reason}
                for transfer in gateway.transfers.values()
            ],
            "authorizations": [
                {"number": consent.number, "state": self._words.get(consent.state, consent.state)}
                for consent in gateway.consents.values()
            ],
        }

    def _shown(self, transfer: Transfer) -> Body:
        state = self._words.get(transfer.state, transfer.state)
        return {"number": transfer.number, "state": state}


def find(by_number: Mapping[str, Found], wanted: str) -> Found:
    """Return the record *wanted*, or the last one whose number begins with *wanted*.

    A transfer's number consists of the withdrawal id and the number of the attempt.
    """
    numbers = [number for number in by_number if wanted and number.startswith(wanted)]
    if not numbers:
        raise Refused(404, "NOT_FOUND", "nothing has this number")
    return by_number[numbers[-1]]
