"""Ask the host's risk control about somebody who is about to win, once an hour."""

from __future__ import annotations

from redpacket.domain.errors import Unavailable
from redpacket.domain.packet import Person
from redpacket.ports.audiences import AskedVerdicts, Hook
from redpacket.ports.runtime import Clock, Journal

_KEPT_MS = 3_600_000
_SILENT_MS = 1_000
"""After a call without an answer a process asks no more for so long: a crowd must not wait for a
host that is away, one after the other."""


class RiskCheck:
    """Asks about one user; *is_open* says what holds where the host does not answer."""

    def __init__(
        self, hook: Hook, asked: AskedVerdicts, *, is_open: bool, clock: Clock, journal: Journal
    ) -> None:
        self._hook = hook
        self._asked = asked
        self._is_open = is_open
        self._clock = clock
        self._journal = journal
        self._silent_until_ms = 0

    def allows(self, user: Person) -> bool:
        """Tell whether the host lets the user take part. Waits for 150 ms at the most."""
        try:
            known = self._asked.find(user.user_id)
        except Unavailable:
            known = None
        if known is not None:
            return known
        now_ms = self._clock.now_ms()
        if user.host_id is None or now_ms < self._silent_until_ms:
            return self._is_open
        answer = self._hook.ask(user.host_id)
        if answer is None:
            self._silent_until_ms = now_ms + _SILENT_MS
            self._journal.event("risk_not_answered")
            return self._is_open
        try:
            self._asked.keep(user.user_id, is_allowed=answer, for_ms=_KEPT_MS)
        except Unavailable as error:
            self._journal.failure("risk_not_remembered", error)
        return answer
