"""Time budget of one request, which all of its calls share."""

from __future__ import annotations

import time
from collections.abc import Callable
from math import inf

REQUEST_S = 7.0
"""Seconds after which a user's request starts no more calls, so that it ends within 10 s.

Calls in progress then time out, except calls by botocore and to the cache. These have fixed
timeouts and end at most two seconds later. Each unreachable address of a host adds a second, and a
DNS lookup adds two (RES_OPTIONS).
"""


class OutOfTime(TimeoutError):
    """The request has no time left for another call."""


class TimeBudget:
    """Budget of the current request; Lambda sends a process one request at a time."""

    def __init__(self, now_s: Callable[[], float] = time.monotonic) -> None:
        self._now_s = now_s
        self._ends_at_s = inf

    def begin(self, seconds: float) -> None:
        """Start a request; inf means no limit."""
        self._ends_at_s = self._now_s() + seconds

    def require(self, least_s: float = 0) -> None:
        """Raise OutOfTime unless more than *least_s* is left."""
        self.timeout_s(inf, least_s)

    def timeout_s(self, most_s: float, least_s: float = 0) -> float:
        """Return a call's timeout: *most_s*, or the remaining time if less. Raises OutOfTime."""
        left_s = self._ends_at_s - self._now_s()
        if left_s <= least_s:
            raise OutOfTime("the request has no time left for another call")
        return min(most_s, left_s)


time_budget = TimeBudget()
