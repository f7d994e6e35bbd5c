"""Host that knows only webhooks, its deposits and its moves of campaign money: its balances
equal the ledger's.
"""

from collections import Counter
from typing import Any

from redpacket.ledger.model import TransferKind, receivable_account, user_account
from redpacket.lottery.model.lottery import PrizeKind
from redpacket.packets.model.packet import PacketStatus
from redpacket.payments.model.payments import PAYMENT_LIFE_MS
from redpacket.payments.model.provider import Refusal, TransferState
from redpacket.payments.model.withdrawals import GIVEN_UP_AFTER_MS
from redpacket.platform.idempotency import Request
from testing.builders import a_campaign, a_prize
from testing.events.event_system import EventSystem
from testing.in_memory_system import LIFE_MS, a_person, an_order
from testing.payments.payment_system import PaymentSystem


class Mirror:
    """Balances by host id, from events that arrive in any order and repeatedly."""

    def __init__(self) -> None:
        self.fen: Counter[str] = Counter()
        self._applied: set[str] = set()
        self._debited: Counter[str] = Counter()

    def apply(self, event: dict[str, Any]) -> None:
        if event["id"] in self._applied:
            return
        self._applied.add(event["id"])
        data = event["data"]
        match event["type"].removeprefix("redpacket."):
            case "packet.sent":
                self.fen[data["sender"]] -= data["total_fen"]
            case "packet.closed":
                self.fen[data["sender"]] += data["refunded_fen"]
            case "claim.settled" | "payment.paid":
                self.fen[data["user"]] += data["amount_fen"]
            case "withdrawal.paid":
                self.fen[data["user"]] -= data["amount_fen"]
            case "payment.refunded":
                grown = max(0, data["debited_fen"] - self._debited[data["payment_id"]])
                self._debited[data["payment_id"]] += grown
                self.fen[data["user"]] -= grown


class Town:
    """Users, packets, prizes and payments whose events reach a mirror."""

    def __init__(self) -> None:
        self.events = EventSystem()
        self.system = self.events.system
        self.payments = PaymentSystem(self.system, details="confirm")
        self.receiver = self.events.receiver("mirror")

    def run(self, for_ms: int = 0) -> None:
        """Advance the time and run all scheduled work until nothing is in flight."""
        self.system.pass_time(for_ms)
        for _ in range(12):
            self.system.pass_time(60_000)
            self.payments.dispatch()
            self.system.settle()
            self.system.sweep()
            self.payments.sweep()

    def balances(self, *users: str) -> dict[str, tuple[int, int]]:
        """Return each user's balance in the mirror and in the ledger, where a debt is negative."""
        self.events.run()
        mirror = Mirror()
        for entry in self.system.ledger_state().entries:
            if entry.kind in {TransferKind.DEPOSIT, TransferKind.CAMPAIGN_MONEY}:
                mirror.fen[f"{entry.account.removeprefix('user:')}@host"] += entry.amount_fen
        # All events arrive in reverse order, and then again in order.
        for event in [*reversed(self.receiver.told), *self.receiver.told]:
            mirror.apply(event)
        balance_fen = self.system.ledger.balance_fen
        return {
            user: (
                mirror.fen[f"{user}@host"],
                balance_fen(user_account(user)) + balance_fen(receivable_account(user)),
            )
            for user in users
        }

    def kinds(self) -> Counter[str]:
        return Counter(event["type"].removeprefix("redpacket.") for event in self.receiver.told)


def _agree(balances: dict[str, tuple[int, int]]) -> bool:
    return all(mirrored == booked for mirrored, booked in balances.values())


def test_a_mirror_follows_packets_and_prizes() -> None:
    town = Town()
    system = town.system
    system.campaigns.create(a_campaign(campaign_id="party"))
    system.deposit("operator", 1_000)
    system.put_prize(a_prize("party", "cash", kind=PrizeKind.PACKET, amount_fen=88, total=1))
    emptied = system.send("ann", count=2, total_fen=200)
    ended = system.send("bob", count=4, total_fen=400)
    system.send("bob", count=1, total_fen=50)

    for name in ("bob", "cat"):
        system.grab(emptied, name)
    system.grab(ended, "ann")
    assert system.draw("party", "cat", "key").draw.prize
    town.run(LIFE_MS)
    balances = town.balances("ann", "bob", "cat")

    assert _agree(balances)
    assert town.kinds()["packet.closed"] == 3
    assert balances["cat"][0] > 88


def test_a_mirror_follows_early_ends() -> None:
    town = Town()
    system, payments = town.system, town.payments
    own = system.send("ann", count=4, total_fen=400)
    early = system.send("ann", count=1, total_fen=100, starts_at_ms=system.clock.now_ms() + LIFE_MS)
    unpaid = payments.send_unpaid("cat", count=2, total_fen=60)
    order = payments.start_packet(unpaid)

    system.grab(own, "bob")
    for packet in (own, early):
        system.end_packet(packet)
    assert payments.end_packet(unpaid, "sent twice").status is PacketStatus.CANCELLED
    payments.gateway.pay(order.number, is_forced=True)
    town.run()
    balances = town.balances("ann", "bob", "cat")

    assert _agree(balances)
    assert (balances["ann"][0] + balances["bob"][0], balances["cat"][0]) == (500, 60)
    kinds = town.kinds()
    assert (kinds["packet.sent"], kinds["packet.closed"], kinds["payment.paid"]) == (2, 2, 1)


def test_a_mirror_follows_payments_and_their_refunds() -> None:
    town = Town()
    payments = town.payments
    for user in ("user", "sender", "late", "poor"):
        town.system.deposit(user, 100)

    in_parts = payments.pay_in("user", 500)
    payments.refund(in_parts, 200)
    town.events.run()
    payments.refund(in_parts, 300)
    # The second transaction of a number is refunded and never credited.
    payments.pay_again(payments.pay_in("user", 70))
    # A user who no longer has the money owes the refund.
    owed = payments.pay_in("poor", 900)
    payments.withdraw("poor", 800)
    payments.refund(owed, 900)
    payments.pay_packet(payments.send_unpaid("sender", count=2, total_fen=100))
    # A payment that arrives after its packet ended is credited to the balance.
    late = payments.start_packet(payments.send_unpaid("late", count=2, total_fen=60))
    town.run(PAYMENT_LIFE_MS)
    payments.gateway.pay(late.number, is_forced=True)
    payments.confirm(late)
    town.run(LIFE_MS)
    balances = town.balances("user", "sender", "late", "poor")

    assert _agree(balances)
    assert (balances["late"][0], balances["poor"][0]) == (160, -700)
    assert town.kinds()["payment.refunded"] == 4


def test_a_mirror_follows_every_end_of_a_withdrawal() -> None:
    town = Town()
    payments, gateway = town.payments, town.payments.gateway
    users = ("paid", "refused", "cancelled", "unconfirmed")
    for user in users:
        town.system.deposit(user, 1_000)

    payments.withdraw("paid", 300)
    town.run()
    gateway.refusal = lambda _: Refusal.OTHER
    payments.withdraw("refused", 300)
    town.run()
    gateway.refusal = lambda _: None
    gateway.next_state = lambda state: state
    payments.withdraw("unconfirmed", 300)
    payments.dispatch()
    payments.cancel(payments.withdraw("cancelled", 300))
    gateway.next_state = _cancels
    town.run(GIVEN_UP_AFTER_MS)
    balances = town.balances(*users)

    assert _agree(balances)
    assert [balances[user][0] for user in users] == [700, 1_000, 1_000, 1_000]
    kinds = town.kinds()
    assert kinds["withdrawal.paid"] == kinds["withdrawal.failed"] == 1
    assert kinds["withdrawal.cancelled"] == 2


def test_a_mirror_that_books_transfers_of_campaign_money_matches_the_ledger() -> None:
    town = Town()
    system, process = town.system, town.system.process()
    for user in ("chest", "till"):
        request = Request("treasurer", user, "body")
        system.deposit_for_campaigns(user, 600, request)
    campaign = a_campaign()
    assert system.campaigns.create(campaign)
    packet = system.send_order(an_order("chest", campaign=campaign, total_fen=200, count=2))
    system.grab(packet, "till")
    move = Request("treasurer", "move", "body")
    process.move_campaign_money(a_person("chest"), a_person("till"), "over", move)
    town.run(LIFE_MS)

    balances = town.balances("chest", "till")

    assert _agree(balances)
    assert sum(booked for _, booked in balances.values()) == 1_200
    assert balances["till"][0] > 1_000


def _cancels(state: TransferState) -> TransferState:
    return TransferState.CANCELLED if state is TransferState.CANCELLING else state
