"""Schedules in which somebody reconciles all the time: no false alarm, and each forgery is found.

A reconciliation reads a few rows at a time, through the same faulty wire as all else; it fails, is
killed and goes on, while money moves under it. Once the faults stop a forger changes rows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from redpacket.adapters import keys
from redpacket.domain.checks.facts import Difference
from redpacket.domain.errors import RedPacketError
from testing.fakes.tables import FakeTable
from tests.faults.draws import DrawSchedule
from tests.faults.faulty import Killed
from tests.faults.packets import PacketSchedule
from tests.faults.refusals import BOUND_MS
from tests.faults.schedule import Schedule

MOVING_MS = 120_000
"""Longer than a transaction takes here, and short enough that some of the rush is compared."""

Row = dict[str, Any]
Forgery = Callable[[Schedule], None]


class _Reconciling(Schedule):
    """A schedule with two reconcilers; *alarms* are differences that were told under fire."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.alarms: list[Difference] = []
        self.finished_count = 0
        self.cut_off_count = 0
        self.system.moving_ms = MOVING_MS
        # Or a run would hardly ever come to its end under fire.
        self.system.dynamo.page_size = self.random.choice((7, 25, 100))
        for process in self.lambdas:
            process.moving_ms = MOVING_MS

    def parts(self) -> list[Callable[[], None]]:
        """Return what runs interleaved."""
        return [*super().parts(), self._reconciler, self._reconciler]

    def _reconciler(self) -> None:
        for _ in range(self.random.randint(20, 60)):
            self.sleep_ms(self.random.randint(10, 3_000))
            try:
                found = self.process().reconcile(stop_in_ms=self.random.randint(1_000, 120_000))
            except (RedPacketError, Killed):
                self.cut_off_count += 1
                continue
            self.finished_count += found.is_over and not found.is_idle
            # An edit that was cut off is told of, which is true.
            self.alarms += [one for one in found.differences if not self._is_of_an_edit(one)]

    def heal(self) -> None:
        """End what goes on, and compare everything twice: the run that is left, and another."""
        super().heal()
        for _ in range(2):
            self.system.pass_time(BOUND_MS)
            found = self.system.reconcile(stop_in_ms=10**9)
            assert found.is_over
            self.alarms += [one for one in found.differences if not self._is_of_an_edit(one)]

    def false_alarms(self) -> list[Difference]:
        """Return what was told of a sound ledger; that work was late under fire is true."""
        return [one for one in self.alarms if one.rule not in {"I8", "cache", "queue"}]

    def found_after(self, forge: Forgery) -> set[str]:
        """Let a forger at the ledger; return the rules that the next run sees broken."""
        forge(self)
        return {one.rule for one in self.system.reconcile(stop_in_ms=10**9).differences}


class ReconciledPackets(_Reconciling, PacketSchedule):
    """Packets under fire."""


class ReconciledDraws(_Reconciling, DrawSchedule):
    """A lottery under fire."""


def _rows(schedule: Schedule, table: str, name: str) -> list[tuple[tuple[str, str], Row]]:
    """Return the rows of a kind by key, in the seed's order."""
    rows = sorted(schedule.system.dynamo.tables[table].items())
    named = [(key, row) for key, row in rows if name in " ".join(key)]
    schedule.random.shuffle(named)
    return named


def extra_entry(schedule: Schedule) -> None:
    """Book something that nothing asks for."""
    (_, row), *_ = _rows(schedule, "accounts", "#send:")
    packet_id = row["counterparty"]["S"].removeprefix("packet:")
    key = keys.claim_entry("user:thief", 1_000, packet_id, 1)
    transfer = {"transfer_id": {"S": f"settle:{packet_id}:1"}, "kind": {"S": "settle"}}
    forged = {**row, **transfer, "pk": {"S": key["pk"]}, "sk": {"S": key["sk"]}}
    forged["amount_fen"] = {"N": "7"}
    schedule.system.dynamo.tables["accounts"][key["pk"], key["sk"]] = forged


def missing_entry(schedule: Schedule) -> None:
    """Lose an entry."""
    (key, _), *_ = _rows(schedule, "accounts", "#send:")
    del schedule.system.dynamo.tables["accounts"][key]


def wrong_balance(schedule: Schedule) -> None:
    """Move a balance by a fen."""
    (_, row), *_ = _rows(schedule, "accounts", " balance")
    row["balance_fen"] = {"N": str(int(row["balance_fen"]["N"]) + 1)}


def wrong_open_count(schedule: Schedule) -> None:
    """Count one open packet more than there is."""
    (_, row), *_ = _rows(schedule, "accounts", " balance")
    counted = int(row.get("open_count", {"N": "0"})["N"])
    row["open_count"] = {"N": str(counted + 1)}


def forged_receipt(schedule: Schedule) -> None:
    """Change a receipt."""
    (_, row), *_ = _rows(schedule, "accounts", "paid#")
    row["account"] = {"S": "user:thief"}


def lost_fate(schedule: Schedule) -> None:
    """Lose a fate."""
    (key, _), *_ = _rows(schedule, "shares", "share#")
    del schedule.system.dynamo.tables["shares"][key]


def wrong_count(schedule: Schedule) -> None:
    """Change a quota's count by one, or add one that was not there."""
    counted = _rows(schedule, "quotas", "") if "quotas" in schedule.system.dynamo.tables else []
    if counted:
        (_, row), *_ = counted
        row["claim_count"] = {"N": str(int(row["claim_count"]["N"]) + 1)}
        return
    forged = {"claim_count": {"N": "1"}, "first_at_ms": {"N": "1"}}
    name = "rain#thief"
    schedule.system.dynamo.tables.setdefault("quotas", FakeTable())[name, ""] = {
        "pk": {"S": name},
        **forged,
    }


def unit_twice(schedule: Schedule) -> None:
    """Let a second draw have won what a first one did."""
    won = [(key, row) for key, row in _rows(schedule, "draws", "draw#") if "prize" in row]
    if not won:
        missed_attempt(schedule)
        return
    (_, sk), row = won[0]
    pk = keys.drawer(row["campaign_id"]["S"], "thief")["pk"]
    forged = {**row, "pk": {"S": pk}, "user_id": {"S": "thief"}}
    schedule.system.dynamo.tables["draws"][pk, sk] = forged


def missed_attempt(schedule: Schedule) -> None:
    """Give a user an attempt back, or count one too many."""
    days = _rows(schedule, "draws", " day#")
    played = [(key, row) for key, row in days if "attempt_count" in row]
    if not played:
        counts = {name: {"N": "1"} for name in ("attempt_count", "attempts_max")}
        key = keys.player("gala", "thief", "20261122")
        forged = {"pk": {"S": key["pk"]}, "sk": {"S": key["sk"]}, "win_count": {"N": "0"}}
        table = schedule.system.dynamo.tables.setdefault("draws", FakeTable())
        table[key["pk"], key["sk"]] = {**forged, **counts}
        return
    (_, row), *_ = played
    row["attempt_count"] = {"N": str(int(row["attempt_count"]["N"]) - 1)}


OF_PACKETS: dict[Forgery, set[str]] = {
    extra_entry: {"I1"},
    missing_entry: {"I1"},
    wrong_balance: {"I1"},
    wrong_open_count: {"I9"},
    forged_receipt: {"I2"},
    lost_fate: {"I1", "I2"},
    wrong_count: {"I9"},
}
"""What a forger does, and rules that must be found broken by it."""

OF_DRAWS: dict[Forgery, set[str]] = {unit_twice: {"I9"}, missed_attempt: {"I9"}}
