"""One schedule: a seed interleaves the parts of a scenario at every I/O; then all work is
completed.

Time is simulated: each I/O takes some time, each Lambda has its own clock, and the next part to run
is the part that is due first.
"""

import heapq
import itertools
import random
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

from greenlet import getcurrent, greenlet

from redpacket.operations.model.switches import Switch
from redpacket.operations.use_cases.turn_switch import SwitchPorts, turn_switch
from redpacket.packets.api.queue import settle_batch
from redpacket.packets.dynamodb import keys
from redpacket.packets.model.claim import ShareRef
from redpacket.platform.difference import Difference
from redpacket.platform.errors import InvariantViolated, RedPacketError
from redpacket.platform.user import User
from redpacket.reconciliation.use_cases.audits import ENDS_DIFFER
from redpacket.reconciliation.use_cases.reconcile import Reconciliation
from testing import faulty
from testing.fakes import FakeDeadLetters, FakeLimits, FakeSwitchCopy, FakeSwitchStore, Position
from testing.in_memory_system import InMemorySystem
from testing.platform.fake_tables import LateCopy
from testing.platform.faulty_sqs import FaultySqs, Message
from tests.faults.process import SKEW_MAX_MS, Process, SkewedClock, Wires

FAULT_RATES = (0.02, 0.1, 0.2, 0.25)
"""Possible fault rates per I/O. A grab has six I/Os, so some schedules get far, and in others most
calls fail.
"""

RECONCILED_OF = 10

HOLDS_MS = (10, 30, 100, 300, 1_500)
"""Milliseconds for which a transaction holds its items; six attempts take about a second."""

INDEX_LAGS_MS = (0, 0, 300, 3_000, 20_000)
REPLICA_LAGS_MS = (0, 100, 1_000)

SWEEPS_MS = (1_000, 8_000, 50_000, 50_000)
"""Milliseconds until a sweep must stop. The shortest sweeps stop before or in the grace period."""

BOUND_MS = 20 * 60_000
"""I8: milliseconds after the last fault within which everything is settled and closed."""

LONG_MS = 1_000
"""Milliseconds from which a sleep counts as long, such as the grace period of a close. A pause
between two attempts is shorter.
"""

HANGS = 0.1
"""Fraction of transactions that are sent late, because the Lambda freezes first."""

HANG_MAX_MS = 8_000

SWITCH_BOUND_MS = 10_000
"""Milliseconds within which a switch takes effect everywhere."""

_MINUTE_MS = 60_000

_OTHER_REASONS = ("ThrottlingError", "ProvisionedThroughputExceeded", "TransactionConflict")
_USER = re.compile(r"(user|sender)-\d")

_REFUSED = 0.01
"""Fraction of operations in transactions that AWS cancels though their conditions hold."""


def names(text: str) -> frozenset[str]:
    """Return the names in a comma-separated text."""
    return frozenset(text.split(", "))


@dataclass
class Schedule:
    """One run from one seed; *seen* counts the items of each check. MUST_SEE lists the checks that
    must see items over many schedules, because they prove nothing otherwise.
    """

    MUST_SEE: ClassVar[frozenset[str]] = names(
        "acknowledged, check_bounds, check_conservation, check_entries, check_shares, "
        "check_known_packets, check_once_per_user, check_open_counts, check_packet_exists, "
        "check_packet_total, check_postings, check_receipts, check_settled_in_time, check_takers, "
        "check_year_sums, logged lines, queued, reconciled rows, refusals"
    )

    seed: int
    is_naive: bool = False
    system: InMemorySystem = field(default_factory=InMemorySystem)
    steps: int = 0
    trace: list[str] = field(default_factory=list)
    differences: list[Difference] = field(default_factory=list)
    edits_under_way: int = 0
    """Edits of a campaign that are in progress or were interrupted."""
    seen: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        """Put wires between the use cases and the stand-ins."""
        self.random = random.Random(self.seed)
        self.faults = faulty.Faults(self.random, self.random.choice(FAULT_RATES))
        self.wire = faulty.Wire(self.faults, self._sleep_in_call, self.hang, self._leave_behind)
        # Waiting tasks and their due times; the first of them runs next.
        self._waiting: list[tuple[int, float, int, greenlet]] = []
        self._turns = itertools.count()
        self._hanging: set[greenlet] = set()
        self._committing: set[greenlet] = set()
        self._day_count = 0
        self._is_over = False
        self._make_aws_unkind()
        system, now_ms = self.system, self.system.clock.now_ms
        self.sqs = FaultySqs(self.wire, self.faults, now_ms, self._acknowledged, self._queued)
        self.switches = FakeSwitchStore()
        self._limits, self._switch_copy = FakeLimits(system.clock), FakeSwitchCopy(system.clock)
        self.wires = self._wires(self.wire)
        self.good_wires = self._wires(replace(self.wire, faults=faulty.Faults(self.random, 0.0)))
        self.groups = self.random.choice((1, 2, 3))
        self.lambdas = [self.process() for _ in range(3)]

    def run(self) -> list[Difference]:
        """Run the schedule to its end; return the broken invariants."""
        self.prepare()
        for part in self.tasks():
            self._run_later(greenlet(self._surviving(part)), 0)
        clock = self.system.clock
        while self._waiting:
            wakes_at_ms, _, _, chosen = heapq.heappop(self._waiting)
            clock.at_ms = max(clock.at_ms, wakes_at_ms)
            chosen.switch()
        self.steps = self.wire.steps
        self.faults.rate = 0.0
        self._is_over = True
        self.turn_all_on()
        self.heal()
        all_differences = self.system.differences(BOUND_MS, self.seen)
        return self.differences + all_differences + self._alarms() + self._named_in_logs()

    def _alarms(self) -> list[Difference]:
        """Check that use cases reported only forged data as damaged."""
        forged = {f"share {ref.share_no} is not claimed" for ref in self.sqs.forged}
        return [
            Difference("alarm", name, "error", "none", str(error))
            for name, error in self.system.logger.errors
            if isinstance(error, InvariantViolated) and str(error) not in forged
        ]

    def _named_in_logs(self) -> list[Difference]:
        """Check that logs contain no user ids, whatever fails."""
        lines = self.system.logger.lines
        self.seen["logged lines"] += len(lines)
        return [
            Difference("logs", "the journal", "lines that name a user", "none", line)
            for line in lines
            if _USER.search(line)
        ]

    def prepare(self) -> None:
        """Fund users and create the initial data."""
        raise NotImplementedError

    def tasks(self) -> list[Callable[[], None]]:
        """Return the interleaved parts."""
        raise NotImplementedError

    def heal(self) -> None:
        """Continue without faults until everything has ended, and judge the answers."""
        raise NotImplementedError

    # Time and processes

    def sleep_ms(self, duration_ms: int) -> None:
        """Run other parts until this part is due."""
        current = getcurrent()
        if self._is_over or current.parent is None:
            self.system.pass_time(duration_ms)
        elif duration_ms:
            self._run_later(current, duration_ms)
            current.parent.switch()

    def wait(self) -> None:
        """Run other parts for a moment."""
        self.sleep_ms(self.random.randint(1, 60))

    def pass_day(self, duration_ms: int) -> None:
        """Advance the time by at least a day, after all transactions have ended."""
        while self._committing:
            self.sleep_ms(self.random.randint(1, 20))
        self._day_count += 1
        self.system.pass_time(duration_ms)

    @property
    def has_open_transactions(self) -> bool:
        """Return whether a transaction holds items; some of its writes may already be visible."""
        return bool(self._committing)

    def _sleep_in_call(self, duration_ms: int) -> None:
        """Sleep within an invocation; if a day passes meanwhile, the invocation was killed."""
        day_count = self._day_count
        self.sleep_ms(duration_ms)
        if self._day_count != day_count:
            raise faulty.Killed

    def _sleep_in_transaction(self, duration_ms: int) -> None:
        """Sleep while a transaction holds its items."""
        current = getcurrent()
        self._committing.add(current)
        self.sleep_ms(duration_ms)
        self._committing.discard(current)

    def process(
        self,
        group: int = 0,
        groups: int = 1,
        *,
        wires: Wires | None = None,
        skew_ms: int | None = None,
    ) -> Process:
        """Return a new Lambda with empty caches."""
        if skew_ms is None:
            skew_ms = self.random.randint(-SKEW_MAX_MS, SKEW_MAX_MS)
        clock = SkewedClock(self.system.clock, skew_ms, self._pause_ms)
        return Process(self.system, wires or self.wires, clock, group=group, groups=groups)

    def _wires(self, wire: faulty.Wire) -> Wires:
        system = self.system
        return Wires(
            dynamo=faulty.FaultyDynamo(system.dynamo, wire),
            sqs=self.sqs,
            claim_cache=faulty.FaultyClaimCache(system.memory, wire),
            draw_cache=faulty.FaultyDraws(system.lots, wire),
            quotas=faulty.FaultyQuotas(system.reserved, wire),
            limits=faulty.FaultyLimits(self._limits, wire),
            switches=faulty.FaultySwitches(self.switches, wire),
            switch_copy=faulty.FaultySwitchCopy(self._switch_copy, wire),
            pause_s=lambda _: self._sleep_in_call(self.random.randint(5, 200)),
        )

    def hang(self) -> None:
        """Freeze some Lambdas before a transaction, until shortly after a sweep's grace period, or
        for HANG_MAX_MS.
        """
        current = getcurrent()
        if not self._is_over and current.parent is not None and self.random.random() < HANGS:
            self._hanging.add(current)
            try:
                self._sleep_in_call(HANG_MAX_MS)
            finally:
                self._hanging.discard(current)

    def _pause_ms(self, duration_ms: int) -> None:
        """Sleep on behalf of a use case; frozen calls resume soon after a long sleep."""
        self._sleep_in_call(duration_ms)
        if duration_ms >= LONG_MS:
            latest_ms = self.system.clock.now_ms() + self.random.randint(0, 300)
            self._waiting = [
                (min(at_ms, latest_ms) if part in self._hanging else at_ms, luck, turn, part)
                for at_ms, luck, turn, part in self._waiting
            ]
            heapq.heapify(self._waiting)

    def a_lambda(self) -> Process:
        """Return a Lambda that may have run for a long time, or a new one."""
        if self.random.random() < 0.2:
            return self.process()
        return self.random.choice(self.lambdas)

    def restart(self, process: Process) -> None:
        """Replace a killed Lambda, whose caches are lost."""
        self.lambdas = [self.process() if each is process else each for each in self.lambdas]

    def trying(self, do: Callable[[Process], None], times: int) -> Callable[[], None]:
        """Return a client that calls *do* *times* times, and continues after every error."""

        def attempt() -> None:
            for _ in range(times):
                process = self.a_lambda()
                try:
                    do(process)
                except InvariantViolated as error:
                    self.differences.append(
                        Difference("alarm", "a client", "answer", "none", str(error))
                    )
                except RedPacketError:
                    self.wait()
                except faulty.Killed:
                    self.restart(process)
                    self.wait()

        return attempt

    def operate(
        self,
        edits: Sequence[Callable[[Process], object]],
        pause_ms: int,
        then: Callable[[Process], object] = bool,
    ) -> None:
        """Make some edits; after a missing answer, retry the edit or give up."""
        for _ in range(self.random.randint(0, 4)):
            self.sleep_ms(self.random.randint(pause_ms, 2_000))
            edit = self.random.choice(edits)
            for _ in range(self.random.randint(1, 3)):
                process = self.a_lambda()
                try:
                    edit(process)
                    then(process)
                except RedPacketError:
                    self.wait()
                except faulty.Killed:
                    self.restart(process)
                else:
                    break

    # Parts of every scenario.

    def payout_worker(self) -> None:
        """Receive and settle claims in a process that is replaced when it crashes."""
        process = self.process()
        for _ in range(self.random.randint(5, 12)):
            try:
                if not self.deliver(process):
                    self.sleep_ms(self.random.randint(50, 500))
            except RedPacketError:
                continue
            except faulty.Killed:
                process = self.process()

    def deliver(self, process: Process) -> bool:
        """Deliver one batch, as Lambda does; return False if the queue is empty."""
        batch: list[Message] = self.sqs.receive()
        if not batch:
            return False
        answer = settle_batch([message.record for message in batch], settle=process.pay)
        failed = {failure["itemIdentifier"] for failure in answer["batchItemFailures"]}
        self.sqs.delete(message for message in batch if message.message_id not in failed)
        return True

    def sweeper(self, group: int) -> Callable[[], None]:
        """Return the sweeps of one group; some of them lack the time for all their work."""

        def sweep() -> None:
            for _ in range(self.random.randint(2, 5)):
                self.sleep_ms(self.random.choice((0, 1_000, 2_000)) + self.random.randint(0, 600))
                process = self.process(group, self.groups)
                try:
                    process.sweep(self.random.choice(SWEEPS_MS))
                except (RedPacketError, faulty.Killed):
                    continue

        return sweep

    def turn_some_switch(self, process: Process) -> None:
        """Turn a switch off, and on again at most ten seconds later, unless a call fails
        first.
        """
        switch = self.random.choice((Switch.SEND, Switch.GRAB, Switch.PAYOUT, Switch.REFUND))
        for is_on in (False, True):
            self.trace.append(f"{switch} is switched {'on' if is_on else 'off'}")
            turn_switch(
                switch,
                is_on=is_on,
                reason="a test",
                operator=User("operator"),
                ports=SwitchPorts(
                    process.switch_store, process.actions, process.clock, process.logger
                ),
            )
            self.sleep_ms(self.random.randint(500, 10_000))

    def reconcile(self, process: Process) -> None:
        """Export while others write, and check that no part of the ledger appears damaged. An
        export and its queries take a third of a second, so only one schedule in RECONCILED_OF makes
        them.
        """
        if self.seed % RECONCILED_OF:
            return
        comparison = self.two_looks()
        self.seen["reconciled rows"] += sum(check.examined for check in comparison.checks)
        for difference in comparison.differences:
            # In a rush, claims may wait for a long time, so late work is judged at the end.
            if (
                difference.rule.startswith("I")
                and difference.rule != "I8"
                and not self._is_of_an_edit(difference)
            ):
                self.differences.append(replace(difference, what=f"false alarm: {difference.what}"))

    def two_looks(self) -> Reconciliation:
        """Compare an export and, after differences, a second one, as the state machine does."""
        first = self.system.compare(FakeDeadLetters(0))
        if first.differences:
            self.sleep_ms(60_000)
            return self.system.compare(FakeDeadLetters(0), first)
        return first

    def _is_of_an_edit(self, difference: Difference) -> bool:
        """Return whether an unfinished edit explains a packet's old end. An unfinished stock change
        explains it as well: a packet that no prize has yet keeps the end that it was funded with.
        """
        if difference.what != ENDS_DIFFER:
            return False
        packet = self.system.packets.find_packet(difference.subject)
        campaign = packet and self.system.campaigns.find_campaign(packet.rules.campaign_id or "")
        if not packet or not campaign:
            return False
        snapshot = self.system.prizes.find_snapshot(campaign.campaign_id)
        prizes = snapshot.prizes if snapshot else ()
        named = {packet_id for prize in prizes for packet_id, _ in prize.packets}
        if not self.edits_under_way and packet.packet_id in named:
            return False
        return (campaign.ends_at_ms, packet.expires_at_ms) == (
            difference.expected,
            difference.actual,
        )

    # The end

    def turn_all_on(self) -> None:
        """Turn every switch on, and wait until it takes effect."""
        for switch in Switch:
            self.switches.turn(switch, is_on=True)
        self.system.pass_time(SWITCH_BOUND_MS)

    def end_all(self) -> None:
        """Run the one-minute schedule until everything is settled and closed."""
        worker = self.process()
        sweepers = [self.process(group, self.groups) for group in range(self.groups)]
        for _ in range(BOUND_MS // _MINUTE_MS):
            self.system.pass_time(_MINUTE_MS)
            for sweeper in sweepers:
                sweeper.sweep(50_000)
            self._deliver_all(worker)
            # An index may still show claims that have been settled.
            for sweeper in sweepers:
                sweeper.repair()
            self._deliver_all(worker)
            if not self.sqs.messages and not self._has_work():
                break
        self._check_queue()

    def _has_work(self) -> bool:
        """Return whether a work list of the packets has work due before the bound."""
        until_ms = self.system.clock.now_ms() + BOUND_MS
        tables = self.system.dynamo.tables
        return any(
            int(row["work_at_ms"]["N"]) <= until_ms
            for name in ("packets", "shares")
            for row in tables.get(name, {}).values()
            if "work_at_ms" in row
        )

    def _deliver_all(self, worker: Process) -> None:
        for _ in range(20):
            while self.deliver(worker):
                pass
            if not self.sqs.messages:
                return
            self.system.pass_time(500)

    # Invariants at any time.

    def _acknowledged(self, ref: ShareRef) -> None:
        """Check (I8) that a claim is settled when its last message is deleted."""
        if self.is_naive:
            return
        self.seen["acknowledged"] += 1
        if "settled_at_ms" not in self._share_row(ref):
            self.differences.append(
                Difference("I8", ref.packet_id, f"claim {ref.share_no}", "settled", "acknowledged")
            )

    def _queued(self, ref: ShareRef) -> None:
        """Check, once nothing runs concurrently, that a queued claim is pending or the last one."""
        if not self._is_over or self.is_naive:
            return
        self.seen["queued"] += 1
        row = self._share_row(ref)
        if "settled_at_ms" in row and "is_last" not in row:
            what = f"claim {ref.share_no} is queued"
            self.differences.append(
                Difference("queue", ref.packet_id, what, "unsettled", "settled")
            )

    def _share_row(self, ref: ShareRef) -> dict[str, object]:
        key = keys.share(ref.packet_id, ref.share_no)
        row: dict[str, object] = self.system.dynamo.tables["shares"].get((key["pk"], key["sk"]), {})
        return row

    def _check_queue(self) -> None:
        """Check that messages without a claim are dead letters, and that the queue is empty."""
        dead = Counter(str(message.ref) for message in self.sqs.dead)
        for message in self.sqs.messages:
            what = f"message of {message.ref} delivered"
            self.differences.append(Difference("I8", "payout queue", what, "yes", "no"))
        for ref in [ref for ref in self.sqs.forged if not dead[str(ref)]]:
            self.differences.append(Difference("queue", "payout DLQ", str(ref), "dead", "gone"))
        self.seen["forged messages"] += len(self.sqs.forged)

    # Behavior of AWS

    def _make_aws_unkind(self) -> None:
        dynamo, pick, now_ms = self.system.dynamo, self.random.choice, self.system.clock.now_ms
        dynamo.during_transaction = lambda: self._sleep_in_transaction(pick(HOLDS_MS))
        dynamo.page_size = pick((1, 2, 3, 7))
        dynamo.read_of = self._read_of
        dynamo.in_order = lambda written: self.random.sample(written, len(written))
        dynamo.between_items = self._between_items
        dynamo.against = self._against
        dynamo.indexes = LateCopy(now_ms, pick(INDEX_LAGS_MS))
        dynamo.replicas = LateCopy(now_ms, pick(REPLICA_LAGS_MS))

    def _read_of(self, count: int) -> int:
        return count if self.random.random() < 0.7 else self.random.randint(1, count)

    def _between_items(self) -> None:
        if self.random.random() < 0.2:
            self._sleep_in_transaction(self.random.randint(1, 20))

    def _against(self, _: Position) -> str | None:
        if not self.faults.rate or self.random.random() >= _REFUSED:
            return None
        return self.random.choice(_OTHER_REASONS)

    def _leave_behind(self, commit: Callable[[], None]) -> None:
        """Commit a transaction whose caller gave up, after others conflicted with it."""

        def end() -> None:
            self._sleep_in_transaction(self.random.choice(HOLDS_MS))
            commit()

        self._run_later(greenlet(end, getcurrent().parent), 0)

    def _run_later(self, part: greenlet, delay_ms: int) -> None:
        """Run a part after a delay; any of the parts that are due at the same time may be first."""
        wakes_at_ms = self.system.clock.now_ms() + delay_ms
        turn = self.random.random(), next(self._turns)
        heapq.heappush(self._waiting, (wakes_at_ms, *turn, part))

    def _surviving(self, do: Callable[[], None]) -> Callable[[], None]:
        def survive() -> None:
            try:
                do()
            except faulty.Killed:
                self.trace.append(f"{getattr(do, '__name__', 'a client')} was killed")

        return survive
