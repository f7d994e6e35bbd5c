"""Treasurers who mark accounts for campaigns, move their money, and unmark them.

Each call may crash or be repeated by another function, with the same key. Owners meanwhile pay in,
send, and claim: any other movement of a marked account breaks I1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from redpacket.erasure.dynamodb.holdings import DynamoHoldings
from redpacket.erasure.use_cases.unmark_account import unmark_account
from redpacket.ledger.model import TransferKind, user_account
from redpacket.operations.model.operators import ActionKind
from redpacket.platform.difference import Difference
from redpacket.platform.dynamodb.client import Dynamo
from redpacket.platform.errors import Forbidden
from redpacket.platform.idempotency import Request
from testing.builders import a_campaign
from testing.in_memory_system import a_person, an_order
from testing.payments.payment_system import PaymentSystem
from testing.platform.fake_tables import TABLE_NAMES
from testing.reconciliation.ledger_state import LedgerState
from tests.faults.process import SKEW_MAX_MS

if TYPE_CHECKING:
    from tests.faults.payments import PaymentSchedule

_CHESTS = ("chest-1", "chest-2", "chest-3")
_LATE = ("late-1", "late-2")
"""New users, who may start a payment while their account is marked."""

_LIFE_MS = 600_000

T = TypeVar("T")


class Treasury:
    """Treasurers of a schedule, and the owners of the accounts that they mark."""

    def __init__(self, schedule: PaymentSchedule) -> None:
        self._of = schedule
        system = schedule.system
        ends_at_ms = system.clock.now_ms() + _LIFE_MS
        self._campaign = a_campaign(ends_at_ms=ends_at_ms, budget_fen=10**6, budget_left_fen=10**6)
        system.campaigns.create(self._campaign)

    def tasks(self) -> Iterator[Callable[[], None]]:
        """Yield the interleaved parts."""
        of = self._of
        for do, times in ((self._mark, 8), (self._mark, 8), (self._move, 8), (self._own, 12)):
            yield of.often(do, times)
        for user_id in _LATE:
            yield of.often(partial(self._pay_in, user_id), 3)

    def freed(self, state: LedgerState) -> Iterator[Difference]:
        """Yield refunds of campaign money into accounts whose mark was removed before."""
        for user in _CHESTS:
            actions, _ = self._of.system.process().actions.list_actions(f"user:{user}", None, 50)
            removed_at_ms = [
                each.action.at_ms + 2 * SKEW_MAX_MS
                for each in actions
                if each.action.kind is ActionKind.CAMPAIGN_MARK_REMOVED
            ]
            account = user_account(user)
            for entry in state.entries if removed_at_ms and account not in state.marked else ():
                is_late = entry.at_ms > max(removed_at_ms)
                if entry.account == account and entry.kind is TransferKind.REFUND and is_late:
                    yield Difference("I1", account, "refunds", 0, entry.amount_fen)

    def _mark(self, town: PaymentSystem) -> None:
        user, number = self._pick((*_CHESTS, *_LATE)), self._pick("12")
        request = Request("boss", f"{user} {number}", user)
        town.system.deposit_for_campaigns(user, 100, request)

    def _move(self, town: PaymentSystem) -> None:
        """Move the remaining money, or try to unmark the account."""
        owner, payee = self._of.random.sample(_CHESTS, 2)
        if self._pick("12") == "1":
            dynamo = Dynamo(lambda: self._of.wires.dynamo, TABLE_NAMES)
            holdings = DynamoHoldings(dynamo, self._of.system.in_parallel)
            unmark_account(owner, a_person("boss"), holdings=holdings, clock=town.clock)
            self._of.seen["unmarked accounts"] += 1
            return
        request = Request("boss", f"{owner} {self._pick('123')}", f"{owner} to {payee}")
        people = a_person(owner), a_person(payee)
        town.system.process().move_campaign_money(*people, "a test", request)
        self._of.seen["moves of campaign money"] += 1

    def _own(self, town: PaymentSystem) -> None:
        """Send from an account of campaign money, for the campaign or for none."""
        of, user, key = self._of, self._pick(_CHESTS), f"send-{self._of.random.random()}"
        campaign = self._pick((self._campaign, None))
        try:
            packet = town.system.send_order(
                an_order(user, key, total_fen=60, count=3, campaign=campaign)
            )
        except Forbidden:
            of.seen["private packets that campaign money refused"] += 1
            raise
        of.trace.append(f"{user} sends {packet.packet_id}")
        town.system.grab(packet, self._pick((*_CHESTS, "user-8")))

    def _pay_in(self, user_id: str, town: PaymentSystem) -> None:
        try:
            payment = town.start(user_id, 100, f"pay-{user_id}")
        except Forbidden:
            self._of.seen["payments that campaign money refused"] += 1
            raise
        self._of.pay(payment, is_forced=False)
        town.confirm(payment)

    def _pick(self, choices: Sequence[T]) -> T:
        return self._of.random.choice(choices)
