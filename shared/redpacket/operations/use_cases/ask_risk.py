"""The host's risk control: stored decisions on users, and calls about likely winners."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from redpacket.platform.errors import InvalidRequest, Unavailable
from redpacket.platform.runtime import Clock, EventLogger
from redpacket.platform.user import User

if TYPE_CHECKING:
    from redpacket.operations.dynamodb.verdicts import DynamoVerdicts
    from redpacket.operations.model.risk import RiskDecision
    from redpacket.operations.ports import AskedVerdicts, RiskHook

_KEPT_MS = 3_600_000
_SILENT_MS = 1_000
"""Milliseconds without calls after an unanswered call, so that few users wait for a timeout."""


class RiskCheck:
    """Risk check, once an hour per user; *is_open* is the answer if the host does not respond."""

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
        """Return whether the host allows the user. Waits for the host for at most 150 ms."""
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


def judge_user(
    user_id: str,
    verdict: RiskDecision,
    note: Callable[[], object],
    *,
    verdicts: DynamoVerdicts,
    checks_verdicts: bool,
) -> None:
    """Call *note*, then store *verdict*. Raises InvalidRequest if claims do not check verdicts."""
    if not checks_verdicts:
        message = "is not available. Set the parameter RiskVerdicts to true first"
        raise InvalidRequest.of("verdict", message)
    note()
    verdicts.put(user_id, verdict)
