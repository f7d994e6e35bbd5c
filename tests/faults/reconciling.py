"""Schedules in which somebody reconciles all the time: no false alarm, and each forgery is found.

An export is taken at any moment, with transactions partly visible. Once the faults stop a forger
changes rows.
"""

from collections.abc import Callable
from random import Random
from typing import Any

from redpacket.ledger.dynamodb import keys
from redpacket.lottery.dynamodb import keys as draw_keys
from redpacket.platform.difference import Difference
from testing.fakes.tables import FakeTable
from testing.in_memory_system import InMemorySystem
from testing.sql import has_deposit, move_entry
from tests.faults.draws import DrawSchedule
from tests.faults.packets import PacketSchedule
from tests.faults.refusals import BOUND_MS
from tests.faults.schedule import Schedule

MOVING_MS = 120_000
"""Longer than a transaction takes here, and short enough that some of the rush is compared."""

Row = dict[str, Any]
Forgery = Callable[[InMemorySystem, Random], None]


class _Reconciling(Schedule):
    """A schedule with a reconciler; *alarms* are differences that were told under fire."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.alarms: list[Difference] = []
        self.examined = 0
        self.system.moving_ms = MOVING_MS

    def parts(self) -> list[Callable[[], None]]:
        """Return what runs interleaved."""
        return [*super().parts(), self._reconciler]

    def _reconciler(self) -> None:
        for _ in range(3):
            self.sleep_ms(self.random.randint(10, 60_000))
            self._compare()

    def _compare(self) -> None:
        found = self.two_looks()
        self.examined += sum(one.examined for one in found.checks)
        # An edit that was cut off is told of, which is true.
        self.alarms += [one for one in found.differences if not self._is_of_an_edit(one)]

    def heal(self) -> None:
        """End what goes on, and compare everything."""
        super().heal()
        self.system.pass_time(BOUND_MS)
        self._compare()

    def false_alarms(self) -> list[Difference]:
        """Return what was told of a sound ledger; that work was late under fire is true."""
        return [one for one in self.alarms if one.rule not in {"I8", "cache", "queue"}]

    def found_after(self, forge: Forgery) -> set[str]:
        """Let a forger at a copy of the ledger; return the rules that the next run sees broken."""
        system = self.system.branched()
        system.moving_ms = self.system.moving_ms
        assert system.reconcile().differences == []
        system.pass_time(BOUND_MS)
        forge(system, Random(self.seed))
        return {one.rule for one in system.reconcile().differences}


class ReconciledPackets(_Reconciling, PacketSchedule):
    """Packets under fire."""


class ReconciledDraws(_Reconciling, DrawSchedule):
    """A lottery under fire."""


def _rows(
    system: InMemorySystem, random: Random, table: str, name: str
) -> list[tuple[tuple[str, str], Row]]:
    """Return the rows of a kind by key, in the seed's order."""
    rows = sorted(system.dynamo.tables[table].items())
    named = [(key, row) for key, row in rows if name in " ".join(key)]
    random.shuffle(named)
    return named


def extra_entry(system: InMemorySystem, random: Random) -> None:
    """Book something that nothing asks for."""
    (_, row), *_ = _rows(system, random, "accounts", "#send:")
    packet_id = row["counterparty"]["S"].removeprefix("packet:")
    key = keys.claim_entry("user:thief", 1_000, packet_id, 1)
    transfer = {"transfer_id": {"S": f"settle:{packet_id}:1"}, "kind": {"S": "settle"}}
    forged = {**row, **transfer, "pk": {"S": key["pk"]}, "sk": {"S": key["sk"]}}
    forged["amount_fen"] = {"N": "7"}
    system.dynamo.tables["accounts"][key["pk"], key["sk"]] = forged


def missing_entry(system: InMemorySystem, random: Random) -> None:
    """Lose an entry."""
    (key, _), *_ = _rows(system, random, "accounts", "#send:")
    del system.dynamo.tables["accounts"][key]


def moved_entry(system: InMemorySystem, _: Random) -> None:
    """Give somebody's deposit to somebody else: only the last run knows whose it was."""
    accounts = sorted({pk for pk, sk in system.dynamo.tables["accounts"] if sk == "balance"})
    giver = next(one for one in accounts if one.startswith("user:") and has_deposit(system, one))
    taker = next(one for one in accounts if one.startswith("user:") and one != giver)
    move_entry(system, giver, taker)


def wrong_balance(system: InMemorySystem, random: Random) -> None:
    """Move a balance by a fen."""
    (_, row), *_ = _rows(system, random, "accounts", " balance")
    row["balance_fen"] = {"N": str(int(row["balance_fen"]["N"]) + 1)}


def wrong_open_count(system: InMemorySystem, random: Random) -> None:
    """Count one open packet more than there is."""
    (_, row), *_ = _rows(system, random, "accounts", " balance")
    counted = int(row.get("open_count", {"N": "0"})["N"])
    row["open_count"] = {"N": str(counted + 1)}


def forged_receipt(system: InMemorySystem, random: Random) -> None:
    """Change a receipt."""
    (_, row), *_ = _rows(system, random, "accounts", "paid#")
    row["account"] = {"S": "user:thief"}


def lost_fate(system: InMemorySystem, random: Random) -> None:
    """Lose a fate."""
    (key, _), *_ = _rows(system, random, "shares", "share#")
    del system.dynamo.tables["shares"][key]


def wrong_count(system: InMemorySystem, random: Random) -> None:
    """Change a quota's count by one, or add one that was not there."""
    counted = _rows(system, random, "quotas", "") if "quotas" in system.dynamo.tables else []
    if counted:
        (_, row), *_ = counted
        row["claim_count"] = {"N": str(int(row["claim_count"]["N"]) + 1)}
        return
    forged = {"claim_count": {"N": "1"}, "first_at_ms": {"N": "1"}}
    name = "rain#thief"
    system.dynamo.tables.setdefault("quotas", FakeTable())[name, ""] = {"pk": {"S": name}, **forged}


def unit_twice(system: InMemorySystem, random: Random) -> None:
    """Let a second draw have won what a first one did."""
    won = [(key, row) for key, row in _rows(system, random, "draws", "draw#") if "prize" in row]
    if not won:
        missed_attempt(system, random)
        return
    (_, sk), row = won[0]
    pk = draw_keys.drawer(row["campaign_id"]["S"], "thief")["pk"]
    forged = {**row, "pk": {"S": pk}, "user_id": {"S": "thief"}}
    system.dynamo.tables["draws"][pk, sk] = forged


def missed_attempt(system: InMemorySystem, random: Random) -> None:
    """Give a user an attempt back, or count one too many."""
    days = _rows(system, random, "draws", " day#")
    played = [(key, row) for key, row in days if "attempt_count" in row]
    if not played:
        counts = {name: {"N": "1"} for name in ("attempt_count", "attempts_max")}
        key = draw_keys.player("gala", "thief", "20261122")
        forged = {"pk": {"S": key["pk"]}, "sk": {"S": key["sk"]}, "win_count": {"N": "0"}}
        table = system.dynamo.tables.setdefault("draws", FakeTable())
        table[key["pk"], key["sk"]] = {**forged, **counts}
        return
    (_, row), *_ = played
    row["attempt_count"] = {"N": str(int(row["attempt_count"]["N"]) - 1)}


OF_PACKETS: dict[Forgery, set[str]] = {
    extra_entry: {"I1"},
    missing_entry: {"I1"},
    moved_entry: {"history"},
    wrong_balance: {"I1"},
    wrong_open_count: {"I9"},
    forged_receipt: {"I2"},
    lost_fate: {"I1", "I2"},
    wrong_count: {"I9"},
}
"""What a forger does, and rules that must be found broken by it."""

OF_DRAWS: dict[Forgery, set[str]] = {unit_twice: {"I9"}, missed_attempt: {"I9"}}
