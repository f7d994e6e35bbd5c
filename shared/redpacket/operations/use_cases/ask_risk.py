"""Check of likely winners by the host's risk control, once an hour per user."""

from __future__ import annotations

from redpacket.operations.risk_ports import AskedVerdicts, RiskHook
from redpacket.platform.errors import Unavailable
from redpacket.platform.runtime import Clock, EventLogger
from redpacket.platform.user import User

_KEPT_MS = 3_600_000
_SILENT_MS = 1_000
"""Milliseconds without calls after one got no answer: a crowd must not wait one by one."""


class RiskCheck:
    """Risk check; *is_open* is the answer while the host does not respond."""

    def __init__(
        self,
        hook: RiskHook,
        cache: AskedVerdicts,
        *,
        is_open: bool,
        clock: Clock,
        logger: EventLogger,
    ) -> None:
        self._hook = hook
        self._cache = cache
        self._is_open = is_open
        self._clock = clock
        self._logger = logger
        self._silent_until_ms = 0

    def allows(self, user: User) -> bool:
        """Return whether the host allows the user. Waits for at most 150 ms."""
        try:
            allowed = self._cache.find(user.user_id)
        except Unavailable:
            allowed = None
        if allowed is not None:
            return allowed
        now_ms = self._clock.now_ms()
        if user.host_id is None or now_ms < self._silent_until_ms:
            return self._is_open
        answer = self._hook.ask(user.host_id)
        if answer is None:
            self._silent_until_ms = now_ms + _SILENT_MS
            self._logger.event("risk_not_answered")
            return self._is_open
        try:
            self._cache.keep(user.user_id, is_allowed=answer, for_ms=_KEPT_MS)
        except Unavailable as error:
            self._logger.failure("risk_not_remembered", error)
        return answer
