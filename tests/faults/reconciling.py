"""Schedules in which somebody reconciles all the time, and no false alarm is told.

An export is taken at any moment, with transactions partly visible.
"""

from collections.abc import Callable

from redpacket.platform.difference import Difference
from tests.faults.draws import DrawSchedule
from tests.faults.packets import PacketSchedule
from tests.faults.refusals import BOUND_MS
from tests.faults.schedule import Schedule

MOVING_MS = 120_000
"""Longer than a transaction takes here, and short enough that some of the rush is compared."""


class _Reconciling(Schedule):
    """A schedule with a reconciler; *alarms* are differences that were told under fire."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.alarms: list[Difference] = []
        self.examined = 0
        self.system.moving_ms = MOVING_MS

    def tasks(self) -> list[Callable[[], None]]:
        """Return what runs interleaved."""
        return [*super().tasks(), self._reconciler]

    def _reconciler(self) -> None:
        for _ in range(3):
            self.sleep_ms(self.random.randint(10, 60_000))
            self._compare()

    def _compare(self) -> None:
        reconciliation = self.two_looks()
        self.examined += sum(check.examined for check in reconciliation.checks)
        # An edit that was cut off is told of, which is true.
        self.alarms += [
            difference
            for difference in reconciliation.differences
            if not self._is_of_an_edit(difference)
        ]

    def heal(self) -> None:
        """End what goes on, and compare everything."""
        super().heal()
        self.system.pass_time(BOUND_MS)
        self._compare()

    def false_alarms(self) -> list[Difference]:
        """Return what was told of a sound ledger; that work was late under fire is true."""
        return [
            difference
            for difference in self.alarms
            if difference.rule not in {"I8", "cache", "queue"}
        ]


class ReconciledPackets(_Reconciling, PacketSchedule):
    """Packets under fire."""


class ReconciledDraws(_Reconciling, DrawSchedule):
    """A lottery under fire."""
