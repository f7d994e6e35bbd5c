"""Real time for in-memory systems."""

import time

from testing.fakes import FakeClock


class WallClock(FakeClock):
    """Real time plus *at_ms*. A sleep increases *at_ms* or, with *is_patient*, takes its time."""

    def __init__(self) -> None:
        super().__init__(0)
        self.is_patient = False

    def now_ms(self) -> int:
        return time.time_ns() // 1_000_000 + self.at_ms

    def sleep_ms(self, duration_ms: int) -> None:
        if self.is_patient:
            time.sleep(duration_ms / 1000)
        else:
            super().sleep_ms(duration_ms)
