"""Schedules with continuous reconciliation, which must raise no false alarm.

An export is taken at any moment, with transactions partly visible.
"""

from collections.abc import Callable

from redpacket.platform.difference import Difference
from tests.faults.draws import DrawSchedule
from tests.faults.packets import PacketSchedule
from tests.faults.refusals import BOUND_MS
from tests.faults.schedule import Schedule

MOVING_MS = 120_000
"""Age in milliseconds from which rows are compared: longer than a transaction takes here, and short
enough to compare part of the rush.
"""


class _Reconciling(Schedule):
    """Schedule with a reconciler; *alarms* are differences reported under faults."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.alarms: list[Difference] = []
        self.examined = 0
        self.system.moving_ms = MOVING_MS

    def tasks(self) -> list[Callable[[], None]]:
        """Return the interleaved parts."""
        return [*super().tasks(), self._reconciler]

    def _reconciler(self) -> None:
        for _ in range(3):
            self.sleep_ms(self.random.randint(10, 60_000))
            self._compare()

    def _compare(self) -> None:
        reconciliation = self.two_looks()
        self.examined += sum(check.examined for check in reconciliation.checks)
        # Skip reports of interrupted edits, which are correct.
        self.alarms += [
            difference
            for difference in reconciliation.differences
            if not self._is_of_an_edit(difference)
        ]

    def heal(self) -> None:
        """End all work, and compare everything."""
        super().heal()
        self.system.pass_time(BOUND_MS)
        self._compare()

    def false_alarms(self) -> list[Difference]:
        """Return the reports about a correct ledger; reports of late work are correct under
        faults.
        """
        return [
            difference
            for difference in self.alarms
            if difference.rule not in {"I8", "cache", "queue"}
        ]


class ReconciledPackets(_Reconciling, PacketSchedule):
    """Packets under faults."""


class ReconciledDraws(_Reconciling, DrawSchedule):
    """Lottery under faults."""
