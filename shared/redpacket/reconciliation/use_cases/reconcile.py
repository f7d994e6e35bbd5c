"""Reconciliation: compare the whole ledger in bounded memory over many invocations.

Sums of lines (reconciliation/lines.py, line_sums.py) are as of one moment before the run, so that
money in flight is on neither side. If sums differ, confirm_rows.py reads the rows again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

from redpacket.packets.ports import DeadLetters
from redpacket.platform.errors import RedPacketError
from redpacket.reconciliation.checks.facts import Difference
from redpacket.reconciliation.ports import Runs, Table
from redpacket.reconciliation.use_cases.audit_packet import LATE_AFTER_MS
from redpacket.reconciliation.use_cases.compare_draws import unfunded
from redpacket.reconciliation.use_cases.compare_rows import Comparison, ReconcilePorts
from redpacket.reconciliation.use_cases.confirm_rows import Confirmation
from redpacket.reconciliation.use_cases.run_state import Progress, RunState, next_state, read_state

MOVING_MS = LATE_AFTER_MS
"""Milliseconds before the start that are left to the next run: the longest time to a write."""

LEASE_MS = 90_000
"""Milliseconds after which another invocation takes over a killed run."""

SAVE_EVERY_MS = 20_000

RUN_MAX_MS = 72 * 3_600_000
"""Milliseconds after which a run raises an alarm: too much has changed since its start."""

_SETTLED_MS = 2_000
"""Milliseconds between two looks at rows that an edit may be moving."""


ENDS_DIFFER = "end vs that of its campaign"
"""State after an interrupted edit, until it is repeated (docs/adr/0022)."""


@dataclass(slots=True)
class Reconciliation:
    """Result so far; *is_complete* if the run is over and every dependency answered."""

    differences: list[Difference] = field(default_factory=list)
    difference_count: int = 0
    account_count: int = 0
    entry_count: int = 0
    packet_count: int = 0
    row_count: int = 0
    moving_count: int = 0
    booked_fen: int = 0
    held_fen: int = 0
    started_at_ms: int = 0
    until_ms: int = 0
    reading: str = ""
    is_over: bool = False
    is_complete: bool = False
    is_idle: bool = False
    """Whether this invocation had nothing to do, or left it to another one."""


def reconcile(
    *,
    ports: ReconcilePorts,
    runs: Runs,
    dead_letters: DeadLetters,
    holder: str,
    new_key: Callable[[], str],
    may_begin: bool,
    stop_at_ms: int,
    moving_ms: int = MOVING_MS,
) -> Reconciliation:
    """Continue the run, or begin one if it *may_begin*; no-op while another *holder* has it."""
    journal, now_ms = ports.journal, ports.clock.now_ms()
    steps = ports.tables.kept()
    before = read_state(runs.find())
    is_over = before is None or before.progress.is_over
    taken = None if is_over and not may_begin else runs.take(holder, now_ms, now_ms + LEASE_MS)
    if taken is None:
        seen = _result(before.progress, steps) if before else Reconciliation()
        return replace(seen, is_idle=True)
    state = read_state(taken)
    if state is None or state.progress.is_over:
        state = next_state(state, now_ms, moving_ms, new_key())
    if not _Run(state, ports, runs, dead_letters, holder, stop_at_ms).go_on():
        return replace(_result(state.progress, steps), is_idle=True)
    result = _result(state.progress, steps)
    if result.is_over != result.is_complete or now_ms > result.started_at_ms + RUN_MAX_MS:
        journal.event("reconcile_incomplete")
        return result
    journal.event("reconcile_advanced")
    if result.is_complete:
        journal.event("reconcile_complete")
    return result


class _Cut(Exception):
    """The time is up, or another invocation took the run."""


class _Run:
    """One invocation of a run: it holds the run's row and saves between pages."""

    def __init__(
        self,
        state: RunState,
        ports: ReconcilePorts,
        runs: Runs,
        dead_letters: DeadLetters,
        holder: str,
        stop_at_ms: int,
    ) -> None:
        self._state = state
        self._ports = ports
        self._runs = runs
        self._dead_letters = dead_letters
        self._holder = holder
        self._stop_at_ms = stop_at_ms
        self._held_at_ms = ports.clock.now_ms()
        ports.beat = self._beat

    def go_on(self) -> bool:
        """Read pages until the run or the time is over; return False if another holder took it."""
        clock = self._ports.clock
        # State of the last whole page: an interrupted page is read again.
        saved = self._state.saved()
        try:
            while not self._state.progress.is_over and clock.now_ms() < self._stop_at_ms:
                self._read_page()
                saved = self._state.saved()
                if clock.now_ms() >= self._held_at_ms + SAVE_EVERY_MS:
                    self._held_at_ms = clock.now_ms()
                    if not self._runs.save(self._holder, saved, self._held_at_ms + LEASE_MS):
                        return False
        except _Cut:
            pass
        except Exception:
            with suppress(RedPacketError):
                self._runs.save(self._holder, saved, 0)
            raise
        return self._runs.save(self._holder, saved, 0)

    def _beat(self) -> None:
        now_ms = self._ports.clock.now_ms()
        if now_ms >= self._stop_at_ms:
            raise _Cut
        if now_ms >= self._held_at_ms + SAVE_EVERY_MS:
            self._held_at_ms = now_ms
            if not self._runs.hold(self._holder, now_ms + LEASE_MS):
                raise _Cut

    def _read_page(self) -> None:
        state, run, steps = self._state, self._state.progress, self._ports.tables.kept()
        is_second = run.step >= len(steps)
        comparison = (Confirmation if is_second else Comparison)(state, self._ports)
        table = steps[run.step % len(steps)]
        rows, run.place = self._ports.tables.read(table, run.place)
        comparison.take_page(table, rows, is_last=run.place is None)
        run.step += run.place is None
        if run.place is None and run.step % len(steps) == 0:
            _end_pass(state, self._ports, comparison, self._dead_letters)


def _end_pass(
    state: RunState, ports: ReconcilePorts, comparison: Comparison, dead_letters: DeadLetters
) -> None:
    run = state.progress
    if isinstance(comparison, Confirmation):
        comparison.tell_unexplained()
    else:
        if run.booked_fen + run.held_fen:
            what = "wallets + packets vs deposits"
            comparison.tell(
                Difference("I1", "all accounts", what, 0, run.booked_fen + run.held_fen)
            )
        run.suspects = sorted(state.balance.unequal_to_zero())
        run.changed = sorted(state.history.unequal(state.seal))
        if run.suspects or run.changed:
            state.balance.clear(run.suspects)
            state.history.clear(run.changed)
            return
    _look_at_ends(run, ports, comparison)
    _count_dead(run, ports, comparison, dead_letters)
    run.is_over = True


def _look_at_ends(run: Progress, ports: ReconcilePorts, comparison: Comparison) -> None:
    if not run.ends:
        return
    ports.clock.sleep_ms(_SETTLED_MS)
    counts = [name for name in run.ends if name.startswith(("unpaid ", "withdrawn "))]
    comparison.look_at_counts(counts)
    for name in dict.fromkeys(one for one in run.ends if one not in counts):
        kind, _, subject = name.partition(" ")
        if kind == "campaign":
            lottery = ports.known.fresh_lottery(subject)
            for found in unfunded(lottery, ports.packets, ports.clock.now_ms()) if lottery else []:
                comparison.tell(found)
        elif packet := ports.known.fresh_packet(subject):
            ports.known.fresh_lottery(packet.rules.campaign_id or "")
            ends_at_ms = comparison.end_differs(packet)
            if ends_at_ms is not None:
                comparison.tell(
                    Difference("I9", subject, ENDS_DIFFER, ends_at_ms, packet.expires_at_ms)
                )


def _count_dead(
    run: Progress, ports: ReconcilePorts, comparison: Comparison, dead_letters: DeadLetters
) -> None:
    try:
        dead_count = dead_letters.count()
    except Exception as error:  # noqa: BLE001 - a missing permission must not end the run
        ports.journal.failure("queue_not_compared", error)
        run.is_whole = False
        return
    if dead_count:
        what = "claims that could not be settled"
        comparison.tell(Difference("queue", "payout DLQ", what, 0, dead_count))


def _result(run: Progress, steps: Sequence[Table]) -> Reconciliation:
    return Reconciliation(
        differences=run.differences,
        difference_count=run.difference_count,
        account_count=run.account_count,
        entry_count=run.entry_count,
        packet_count=run.packet_count,
        row_count=run.row_count,
        moving_count=run.moving_count,
        booked_fen=run.booked_fen,
        held_fen=run.held_fen,
        started_at_ms=run.started_at_ms,
        until_ms=run.until_ms,
        reading="" if run.is_over else steps[run.step % len(steps)],
        is_over=run.is_over,
        is_complete=run.is_over and run.is_whole,
    )
