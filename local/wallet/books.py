"""The wallet's books: what its users paid us, and what it paid them for us."""

from dataclasses import dataclass, field
from typing import Any

from local.gateway.errors import Refused
from local.gateway.numbers import digest

CONFIRM_WITHIN_MS = 24 * 60 * 60 * 1_000
# As long as at the gateway beside it.
CANCELLING_MS = 3_000
FINAL = frozenset({"succeeded", "failed", "cancelled"})
Body = dict[str, Any]


@dataclass(slots=True)
class Order:
    """What a user may pay, once."""

    wanted: Body
    is_closed: bool = False
    transactions: list[Body] = field(default_factory=list)
    refunds: list[Body] = field(default_factory=list)
    queries: int = 0
    hidden_queries: int = 0

    def state(self, now_ms: int) -> str:
        """Return where it stands."""
        if self.transactions:
            return "paid"
        is_over = self.is_closed or now_ms >= self.wanted["expires_at_ms"]
        return "closed" if is_over else "unpaid"

    def shown(self, now_ms: int) -> Body:
        """Return what calls and queries answer."""
        return {
            "number": self.wanted["number"],
            "state": self.state(now_ms),
            "transactions": self.transactions,
        }


@dataclass(slots=True)
class Transfer:
    """What a user gets, once."""

    wanted: Body
    state: str
    updated_at_ms: int
    created_at_ms: int
    reason: str = ""
    queries: int = 0
    hidden_queries: int = 0

    def move(self, state: str, now_ms: int, reason: str = "") -> None:
        """Enter another state; a final one is for ever."""
        if self.state in FINAL:
            raise Refused(409, "final", f"the transfer is {self.state}")
        self.state, self.updated_at_ms, self.reason = state, now_ms, reason

    @property
    def outside_no(self) -> str:
        """The wallet's own number."""
        return f"out{digest('transfer', self.wanted['bill_no'], digits=20)}"

    def shown(self) -> Body:
        """Return what calls and queries answer."""
        is_waiting = self.state == "awaiting_confirmation"
        return {
            "bill_no": self.wanted["bill_no"],
            "state": self.state,
            "outside_no": self.outside_no,
            "amount_fen": self.wanted["amount_fen"],
            "user": self.wanted["user"],
            "decided_at_ms": self.updated_at_ms if self.state in FINAL else 0,
            "confirmation": f"confirm-{self.outside_no}" if is_waiting else "",
            "reason": self.reason,
        }


class Books:
    """Everything that the wallet knows."""

    def __init__(self) -> None:
        self.orders: dict[str, Order] = {}
        self.refunds: dict[str, Body] = {}
        self.transfers: dict[str, Transfer] = {}

    def order(self, wanted: Body) -> Order:
        """Make an order, or return the one that this same request made before."""
        known = self.orders.setdefault(wanted["number"], Order(wanted))
        if known.wanted != wanted:
            raise Refused(409, "changed", "the number was used for another order")
        return known

    def pay(
        self, order: Order, user: str, now_ms: int, amount_fen: int | None, *, late: bool
    ) -> Body:
        """Let a user pay; *late*: also what is closed, or paid already."""
        if not late and order.state(now_ms) != "unpaid":
            raise Refused(409, "not_payable", f"the order is {order.state(now_ms)}")
        number = order.wanted["number"]
        transaction = {
            "transaction_id": f"in{digest('paid', number, len(order.transactions), digits=20)}",
            "number": number,
            "amount_fen": order.wanted["amount_fen"] if amount_fen is None else amount_fen,
            "currency": "CNY",
            "user": order.wanted["user"] or user,
            "paid_at_ms": now_ms,
        }
        order.transactions.append(transaction)
        return transaction

    def refund(self, wanted: Body, now_ms: int) -> tuple[Body, bool]:
        """Give back, once for each number; False: nothing new was given."""
        if known := self.refunds.get(wanted["refund_no"]):
            if any(known[name] != wanted[name] for name in ("number", "amount_fen")):
                raise Refused(409, "changed", "the number was used for another refund")
            return known, False
        order = self.orders.get(wanted["number"])
        paid = {t["transaction_id"]: t["amount_fen"] for t in order.transactions} if order else {}
        left_fen = paid.get(wanted["transaction_id"], 0) - sum(
            refund["amount_fen"]
            for refund in self.refunds.values()
            if (refund["transaction_id"], refund["state"])
            == (wanted["transaction_id"], "succeeded")
        )
        is_possible = order is not None and wanted["amount_fen"] <= left_fen
        names = ("refund_no", "number", "transaction_id", "amount_fen")
        refund = {name: wanted[name] for name in names} | {
            "state": "succeeded" if is_possible else "failed",
            "refunded_at_ms": now_ms if is_possible else 0,
        }
        self.refunds[wanted["refund_no"]] = refund
        if order is not None and is_possible:
            order.refunds.append(refund)
        return refund, is_possible

    def transfer(self, wanted: Body, state: str, now_ms: int) -> tuple[Transfer, bool]:
        """Pay a user, once for each number; False: asked before."""
        if known := self.transfers.get(wanted["bill_no"]):
            if known.wanted != wanted:
                raise Refused(409, "changed", "the number was used for another transfer")
            return known, False
        transfer = Transfer(wanted, state, now_ms, now_ms)
        self.transfers[wanted["bill_no"]] = transfer
        return transfer, True

    def lapse(self, now_ms: int) -> list[Transfer]:
        """End what was not confirmed within a day, and what was cancelled; return what ended."""
        ended = []
        for transfer in self.transfers.values():
            cancelled_at_ms = transfer.updated_at_ms + CANCELLING_MS
            overdue_at_ms = transfer.created_at_ms + CONFIRM_WITHIN_MS
            if transfer.state == "cancelling" and now_ms >= cancelled_at_ms:
                transfer.move("cancelled", now_ms)
            elif transfer.state == "awaiting_confirmation" and now_ms >= overdue_at_ms:
                transfer.move("failed", now_ms, "overdue")
            else:
                continue
            ended.append(transfer)
        return ended
