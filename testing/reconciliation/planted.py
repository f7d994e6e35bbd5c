"""Faults that the nightly comparisons must report, at least one per check of stored rows."""

from collections.abc import Callable
from typing import Any, TypeAlias

from redpacket.campaigns.dynamodb import keys as campaign_keys
from redpacket.campaigns.model import DrawRules
from redpacket.fairness.model.log import id_hash_of
from redpacket.ledger.dynamodb import keys as ledger_keys
from redpacket.ledger.dynamodb.posting import post_operations
from redpacket.ledger.model import DEPOSITS, Transfer, TransferKind
from redpacket.lottery.dynamodb import keys as draw_keys
from redpacket.lottery.model.lottery import PrizeKind
from redpacket.packets.dynamodb import keys
from redpacket.packets.model.packet import Packet
from redpacket.payments.dynamodb import keys as payment_keys
from redpacket.payments.model.provider import StatementKind, statement_day
from redpacket.payments.model.withdrawals import LEASE_MS
from redpacket.platform.dynamodb.client import Dynamo, put
from redpacket.platform.idempotency import Request
from redpacket.reconciliation.use_cases.audit_packet import LATE_AFTER_MS
from redpacket.reconciliation.use_cases.statements import MOVING_MS, rules
from testing.builders import a_campaign, a_prize
from testing.fairness.fake_head_signer import FakeSigner
from testing.fakes import Item
from testing.in_memory_system import InMemorySystem
from testing.payments.payment_system import PaymentSystem
from testing.platform.fake_tables import TABLE_NAMES
from testing.reconciliation.checks import CHECKS

DAY_MS = 86_400_000
HOUR_MS = 3_600_000

ONLY_TESTS = {"check_told", "check_told_draws"}
"""Checks of responses to users, which are not stored."""


class World:
    """System with at least one correct row of each kind on which money depends."""

    def __init__(self) -> None:
        self.town = PaymentSystem()
        self.system = system = self.town.system
        system.send("sue", count=1, life_ms=HOUR_MS)
        self._log()
        # The log check expects commitments after the first hour.
        system.pass_time(2 * HOUR_MS)
        system.sweep()
        system.audience_rows.edit("guests", ["ann", "bob"], [])
        rules = DrawRules(attempts_per_user_per_day=5, wins_per_user_per_day=5)
        ends_at_ms = system.clock.now_ms() + 20 * DAY_MS
        fair = a_campaign(campaign_id="fair", ends_at_ms=ends_at_ms, rules=rules, miss_weight=0)
        assert system.campaigns.create(fair)
        self.rain = system.send(campaign=fair, count=3, life_ms=19 * DAY_MS)
        self.open = system.send("sue", count=4, life_ms=HOUR_MS)
        self.closed = system.send("sue", count=2, life_ms=HOUR_MS)
        for packet in (self.rain, self.open, self.closed):
            for user in ("ann", "bob"):
                system.grab(packet, user)
        system.deposit("operator", 10_000)
        cash = a_prize("fair", "cash", kind=PrizeKind.PACKET, amount_fen=100, total=5)
        for prize in (cash, a_prize("fair", "cup", per_day=4)):
            system.put_prize(prize)
        system.load_campaign("fair")
        for number in range(6):
            system.draw("fair", f"user-{number % 2}", f"key-{number}")
        system.settle()
        system.deposit("bob", 10_000)
        money = Request("treasurer", "rain", "rain")
        system.deposit_for_campaigns("rain", 5_000, money)
        self.payment = self.town.pay_in("alice", 900)
        self.town.pay_again(self.payment)
        self.town.refund(self.town.pay_in("alice", 70), 30)
        self.paid = self.town.withdraw("bob", 5_000)
        self.town.dispatch(1_000)
        self.town.sweep_after(LEASE_MS)
        self.town.sweep_after(60_000)
        self.returned = self.town.cancel(self.town.withdraw("bob", 60))
        self.town.sweep_after(60_000)
        self.queued = self.town.withdraw("bob", 50)
        self.town.send_unpaid("bob")
        self._log()

    def _log(self) -> None:
        self.system.process(head_signer=FakeSigner()).extend_log(
            (), self.system.clock.now_ms() + 60_000
        )

    def row(self, table: str, key: dict[str, str]) -> Item:
        return self.system.row(table, key)

    def drop(self, table: str, key: dict[str, str]) -> None:
        del self.system.dynamo.tables[table][key["pk"], key.get("sk", "")]

    def add(self, table: str, key: dict[str, str], name: str, change: int, *others: str) -> None:
        """Add *change* to one or more numbers in a row."""
        row = self.system.dynamo.tables[table][key["pk"], key.get("sk", "")]
        for column in (name, *others):
            row[column] = {"N": str(int(row.get(column, {"N": "0"})["N"]) + change)}

    def first(self, table: str, prefix: str, sk_prefix: str = "") -> dict[str, str]:
        """Return the first key that has both prefixes."""
        pk, sk = next(
            key
            for key in sorted(self.system.dynamo.tables[table])
            if key[0].startswith(prefix) and key[1].startswith(sk_prefix)
        )
        return {"pk": pk, "sk": sk}

    def night(self, after_ms: int) -> set[str]:
        """Compare all tables and a statement; return the checks, rules and details that differ."""
        day = statement_day(self.system.clock.now_ms())
        self.system.pass_time(max(after_ms, MOVING_MS + 1))
        result = self.system.reconcile()
        self.compared_at_ms = self.system.clock.now_ms()
        told = {check.name for check in result.checks if check.differences}
        told |= {each for found in result.differences for each in (found.rule, found.what)}
        self.system.pass_time(DAY_MS)
        report = self.town.compare_statement(day)
        assert report
        # A difference in a statement violates I6.
        return told | ({"I6"} if report.differences else set())

    def night_in_order(self) -> set[str]:
        """Run a nightly comparison as a base for later runs; return the checks that failed."""
        self.system.pass_time(MOVING_MS + 1)
        return {check.name for check in self.system.reconcile().checks if check.differences}

    def told_by_tests(self) -> set[str]:
        """Return the Python checks, other than those of responses, that find differences."""
        state = self.system.ledger_state()
        return {name for name, _, differences in state.checked([], []) if differences}


def forge_transfer(system: InMemorySystem, transfer: Transfer) -> None:
    """Post a transfer and a copy of its request, as an attacker who can write accounts could."""
    dynamo = Dynamo(lambda: system.dynamo, TABLE_NAMES)
    copy = {**ledger_keys.request_copy("0" * 32), "result_id": transfer.transfer_id}
    assert dynamo.try_transact(
        [*post_operations("accounts", [transfer]), put("accounts", {**copy, "body_hash": ""})]
    )


def _balance(user: str) -> dict[str, str]:
    return ledger_keys.account(f"user:{user}")


def _give_to_another(world: World) -> None:
    """Change the user of the second claim to the user of the first."""
    packet_id = world.open.packet_id
    first, second = (world.row("shares", keys.share(packet_id, number)) for number in (1, 2))
    second["user_id"] = first["user_id"]


def _grab_only(world: World) -> None:
    world.system.grab(world.open, "zoe")
    world.system.queue.refs.clear()


def _end_of(world: World, packet: Packet) -> str:
    row = world.row("packets", keys.packet(packet.packet_id))
    return next(name for name in row if name.startswith("claimed_fen"))


def _cash_share(world: World) -> dict[str, str]:
    lottery = world.system.prizes.find_snapshot("fair")
    assert lottery
    ((packet_id, _),) = next(prize.packets for prize in lottery.prizes if prize.prize_id == "cash")
    return world.first("shares", keys.share(packet_id, 1)["pk"], "share#")


def _draw(world: World) -> dict[str, str]:
    return world.first("draws", draw_keys.DRAWER_PREFIX, draw_keys.DRAW_PREFIX)


Plant: TypeAlias = Callable[[World], Any]


def _line_of_another_provider(world: World) -> None:
    """Move a transfer's line to another provider's statement."""
    key = world.first("payments", "outside#wechat#transfer")
    row = world.system.dynamo.tables["payments"].pop((key["pk"], key["sk"]))
    pk = key["pk"].replace("wechat", "host")
    world.system.dynamo.tables["payments"][pk, key["sk"]] = {**row, "pk": {"S": pk}}


def _post_again(world: World) -> None:
    """Post a deposit a second time, a millisecond later, with its effect on both balances."""
    rows = world.system.dynamo.tables["accounts"]
    deposit_of_bob = world.first("accounts", "user:bob", "entry#")
    transfer_id = rows["user:bob", deposit_of_bob["sk"]]["transfer_id"]["S"]
    for account in ("user:bob", DEPOSITS):
        (entry,) = [
            row
            for row in list(rows.values())
            if row["pk"]["S"] == account and row.get("transfer_id") == {"S": transfer_id}
        ]
        at_ms = int(entry["at_ms"]["N"]) + 1
        sk = f"entry#{at_ms:013d}#{transfer_id}"
        rows[account, sk] = {**entry, "sk": {"S": sk}, "at_ms": {"N": str(at_ms)}}
        world.add(
            "accounts", ledger_keys.account(account), "balance_fen", int(entry["amount_fen"]["N"])
        )


PLANTED: dict[str, Plant] = {
    "check_conservation": lambda w: w.add("accounts", _balance("ann"), "balance_fen", 1),
    "check_entries": lambda w: w.add("accounts", _balance("bob"), "balance_fen", -1),
    "check_postings": lambda w: w.drop("accounts", w.first("accounts", "user:ann", "claim#")),
    "check_posted": lambda w: w.drop("accounts", w.first("accounts", "user:bob", "claim#")),
    "check_known_packets": lambda w: w.drop("packets", keys.packet(w.open.packet_id)),
    "check_year_sums": lambda w: w.add(
        "accounts",
        _balance("sue"),
        next(
            column for column in w.row("accounts", _balance("sue")) if column.startswith("sent_fen")
        ),
        1,
    ),
    "check_outside_postings": lambda w: w.add(
        "payments", payment_keys.payment(w.payment.number), "amount_fen", 1
    ),
    "check_payments": lambda w: w.add(
        "payments", payment_keys.payment(w.payment.number), "reversed_fen", 10
    ),
    "check_payments: paid with its time": lambda w: w.row(
        "payments", payment_keys.payment(w.payment.number)
    ).update(payment_status={"S": "closed"}),
    "check_payments: given back with its time": lambda w: w.row(
        "payments", w.first("payments", "payment#", payment_keys.RETURN_PREFIX)
    ).pop("done_at_ms"),
    "check_payments: ended with its time": lambda w: w.row(
        "payments", payment_keys.withdrawal(w.paid.withdrawal_id)
    ).pop("ended_at_ms"),
    "check_causes": lambda w: forge_transfer(
        w.system,
        Transfer(
            *("deposit:forged", TransferKind.DEPOSIT, DEPOSITS, "user:ann"),
            *(9_000, w.system.clock.now_ms()),
        ),
    ),
    "check_marks": lambda w: w.row("accounts", _balance("rain")).pop("is_for_campaigns"),
    "check_packet_total": lambda w: w.add(
        "packets", keys.packet(w.closed.packet_id), _end_of(w, w.closed), 1
    ),
    "check_tally": lambda w: w.add(
        "packets", keys.packet(w.closed.packet_id), _end_of(w, w.closed), -1
    ),
    "check_receipts": lambda w: w.drop("accounts", ledger_keys.receipt(w.open.packet_id, 1)),
    "check_shares": lambda w: w.add("shares", keys.share(w.open.packet_id, 1), "amount_fen", 1),
    "check_packet_exists": lambda w: w.drop("packets", keys.packet(w.closed.packet_id)),
    "check_once_per_user": _give_to_another,
    "check_takers": lambda w: w.drop("shares", keys.claimer(w.open.packet_id, "ann")),
    "check_outcomes": lambda w: w.row("draws", _draw(w)).update(odds={"S": "cup:0|1"}),
    "check_outside": lambda w: w.town.gateway.book.append(
        w.town.gateway.lines(StatementKind.TRANSFER)[0]
    ),
    "check_lines": lambda w: w.drop("payments", w.first("payments", "outside#wechat#transfer")),
    "check_lines: line of its provider": _line_of_another_provider,
    "check_asked": lambda w: w.row(
        "payments", payment_keys.withdrawal(w.returned.withdrawal_id)
    ).update(returned_on={"S": ""}),
    "check_once": _post_again,
    "check_bounds": lambda w: w.row("accounts", _balance("ann")).update(balance_fen={"N": "-1"}),
    "check_settled_in_time": _grab_only,
    "check_late_claims": _grab_only,
    "check_late_close": lambda w: w.system.pass_time(HOUR_MS + LATE_AFTER_MS),
    "check_outside_in_time": lambda w: w.row(
        "payments", payment_keys.withdrawal(w.queued.withdrawal_id)
    ).pop("work_pk"),
    "check_late_end": lambda w: w.system.pass_time(7 * DAY_MS),
    "check_claim_counts": lambda w: w.add(
        "quotas", keys.claim_count("fair", "ann"), "claim_count", 1
    ),
    "check_lottery": lambda w: w.drop("draws", w.first("draws", draw_keys.UNITS_PREFIX)),
    "check_windows": lambda w: w.add(
        "campaigns", campaign_keys.window("fair", 1), "starts_at_ms", DAY_MS
    ),
    "check_moved_ends": lambda w: w.add(
        "campaigns", campaign_keys.campaign("fair"), "ends_at_ms", -2 * DAY_MS
    ),
    "check_own_ends": lambda w: w.add(
        "packets", keys.packet(w.rain.packet_id), "asked_ends_at_ms", -20 * DAY_MS
    ),
    "check_unit": lambda w: w.add("draws", _draw(w), "unit_no", 99),
    "check_player": lambda w: w.add(
        "draws", w.first("draws", draw_keys.DRAWER_PREFIX, draw_keys.PLAYER_PREFIX), "wins_max", -9
    ),
    "check_open_counts": lambda w: w.add("accounts", _balance("sue"), "open_count", 1),
    "check_unpaid_counts": lambda w: w.add(
        "accounts", _balance("bob"), "open_count", 7, "unpaid_count"
    ),
    "check_audiences": lambda w: w.add(
        "audience", campaign_keys.audience_size("guests"), "member_count", 1
    ),
    "check_budgets": lambda w: w.add(
        "campaigns", campaign_keys.campaign("fair"), "budget_left_fen", 1
    ),
    "check_cash": lambda w: w.add("shares", _cash_share(w), "decided_at_ms", 1),
    "check_commitments": lambda w: w.drop("commitments", {"pk": id_hash_of(w.open.packet_id)}),
    "check_dates": lambda w: w.add(
        "accounts", w.first("accounts", "user:bob", "entry#"), "at_ms", DAY_MS
    ),
    "check_kept": lambda w: w.add(
        "payments", w.first("payments", "outside#wechat#transfer"), "moved_at_ms", 1
    ),
    "check_log": lambda w: w.add("commitments", {"pk": id_hash_of(w.open.packet_id)}, "at_ms", 1),
    "check_players": lambda w: w.add(
        "draws", w.first("draws", draw_keys.DRAWER_PREFIX, draw_keys.PLAYER_PREFIX), "win_count", -1
    ),
    "check_readable": lambda w: w.row("accounts", w.first("accounts", "user:bob", "claim#")).update(
        amount_fen={"N": "1.5"}
    ),
    "check_terms": lambda w: w.add("packets", keys.packet(w.open.packet_id), "total_fen", 1),
    "check_withdrawn": lambda w: w.add(
        "payments", payment_keys.withdrawn("bob", w.paid.day), "withdrawn_fen", -5_000
    ),
}
"""Fault for each check: corrupted rows, or time that passes without a sweep.

If a key names a comparison after the check, that comparison must find the fault.
"""


def check_of(planted: str) -> str:
    """Return the name of the check in a key of PLANTED."""
    return planted.partition(": ")[0]


BY_THE_ROW = {
    # `LedgerState.differences` runs these as parts of other checks.
    *("check_posted", "check_tally", "check_unit", "check_player"),
    # These checks need a time bound or the provider's book.
    *("check_settled_in_time", "check_late_claims", "check_late_close", "check_late_end"),
    "check_moved_ends",
    *("check_outside", "check_outside_in_time"),
}

NOT_IN_SQL = {
    # Audits recompute points; a daily use case compares the provider's statements.
    *("check_outcomes", "check_outside"),
    # SQL has separate checks for late claims and late packets.
    "check_settled_in_time",
    *ONLY_TESTS,
}

NEEDS_A_BASE = {"check_kept"}
"""Checks that compare changed rows with the previous run."""

FOUND_BY = {
    # Instead, SQL compares balances with entries, and entries with the rows that hold money.
    "check_conservation": "check_entries",
    "check_posted": "check_postings",
    "check_tally": "check_packet_total",
    # SQL checks only that amounts are within bounds, and does not know earlier stock.
    "check_shares": "audit_packets",
    "check_unit": "audit_draws",
}
"""SQL checks or audits that find a fault planted for a different check, keyed by that check."""


def missed(planted: str, *, is_incremental: bool = False) -> str | None:
    """Plant a check's fault; return the nightly run's report if the run misses the fault. If
    *is_incremental*, plant the fault after a correct run, so that only an incremental export has
    it.
    """
    check, _, what = planted.partition(": ")
    is_incremental |= check in NEEDS_A_BASE
    world = World()
    base_ms = world.system.clock.now_ms() + MOVING_MS + 1
    if is_incremental and (early := world.night_in_order()):
        return f"{sorted(early)} before the fault"
    PLANTED[planted](world)
    told = world.night(0)
    has_base = bool(world.system.last_run["export"]["base"])
    if has_base != (is_incremental and world.compared_at_ms - base_ms <= DAY_MS):
        return "wrong kind of export"
    wanted = {CHECKS.get(check) or rules()[check]}
    wanted |= {what} if what else set()
    wanted |= set() if check in NOT_IN_SQL else {FOUND_BY.get(check, check)}
    return None if wanted <= told else f"{sorted(told)}"
