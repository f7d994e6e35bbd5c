"""Budget of calls per subject, in process memory, for functions without a cache."""

from __future__ import annotations

from redpacket.operations.model.limits import Limit
from redpacket.operations.use_cases.limit_rate import too_fast
from redpacket.platform.runtime import Clock

SUBJECTS_MAX = 10_000
"""Maximum subjects in memory, at about 150 bytes each."""


class FailureBudget:
    """Limit on failures or calls, by the generic cell rate algorithm.

    Each process counts separately, so *n* processes admit *n* times the limit.
    """

    def __init__(self, limit: Limit, clock: Clock) -> None:
        self._limit = limit
        self._clock = clock
        self._refilled_at_ms: dict[str, int] = {}

    def require(self, subject: str) -> None:
        """Raise RateLimited if *subject* has used its budget. An empty subject has no limit."""
        used_ms = self._refilled_at_ms.get(subject, 0) - self._clock.now_ms()
        wait_ms = used_ms - self._limit.interval_ms * (self._limit.burst - 1)
        if wait_ms > 0:
            raise too_fast(self._limit, wait_ms)

    def take(self, subject: str) -> None:
        """Count a call by *subject*. Raises RateLimited if the call exceeds the limit."""
        self.require(subject)
        self.spend(subject)

    def spend(self, subject: str) -> None:
        """Count a call by *subject*, even beyond the limit."""
        if not subject:
            return
        now_ms = self._clock.now_ms()
        if len(self._refilled_at_ms) >= SUBJECTS_MAX:
            used = {each: at_ms for each, at_ms in self._refilled_at_ms.items() if at_ms > now_ms}
            self._refilled_at_ms = used if len(used) < SUBJECTS_MAX else {}
        refilled_at_ms = max(self._refilled_at_ms.get(subject, 0), now_ms)
        self._refilled_at_ms[subject] = refilled_at_ms + self._limit.interval_ms
