"""Behavior of a simulated provider: faults in calls, notifications and statements."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from random import Random
from typing import Any, Protocol

from local.gateways.records import Line, Refused, Transfer


class Mode(StrEnum):
    """Mode of behavior, set by `POST /_fake/mode`."""

    OK = "ok"
    # Responses to a call that creates something.
    PAYS_AND_TIMES_OUT = "pays_and_times_out"
    TIMES_OUT = "times_out"
    PAYS_AND_FAILS = "pays_and_fails"
    REFUSES = "refuses"
    REFUSES_CALLS = "refuses_calls"
    REFUSES_ADDRESS = "refuses_address"
    NOT_FOUND_THEN_FOUND = "not_found_then_found"
    AUTHORIZATION_WITHDRAWN = "authorization_withdrawn"
    # Some providers always require confirmation; the host's wallet requires it only in this mode.
    ASKS_CONFIRMATION = "asks_confirmation"
    # Responses to any call.
    SLOW = "slow"
    THROTTLES = "throttles"
    FAILS = "fails"
    # Faults of notifications.
    DUPLICATE_NOTIFICATIONS = "duplicate_notifications"
    NO_NOTIFICATIONS = "no_notifications"
    FORGED_NOTIFICATIONS = "forged_notifications"
    STALE_NOTIFICATIONS = "stale_notifications"
    REORDERED_NOTIFICATIONS = "reordered_notifications"
    # Faults of statements.
    BILL_LATE = "bill_late"
    BILL_LINE_TWICE = "bill_line_twice"
    BILL_LINE_MISSING = "bill_line_missing"
    BILL_LINE_CHANGED = "bill_line_changed"
    BILL_DAMAGED = "bill_damaged"

    @classmethod
    def _missing_(cls, value: object) -> None:
        raise ValueError(f"{value!r} is not a mode; choose one of {', '.join(cls)}")


ANY_CALL = frozenset({Mode.SLOW, Mode.THROTTLES, Mode.FAILS})
CREATING_CALL = ANY_CALL | {
    *(Mode.PAYS_AND_TIMES_OUT, Mode.TIMES_OUT, Mode.PAYS_AND_FAILS, Mode.REFUSES),
    *(Mode.REFUSES_CALLS, Mode.NOT_FOUND_THEN_FOUND, Mode.AUTHORIZATION_WITHDRAWN),
    *(Mode.REFUSES_ADDRESS, Mode.ASKS_CONFIRMATION),
}
NOTIFICATION = frozenset(mode for mode in Mode if mode.endswith("_notifications"))
BILL = frozenset(mode for mode in Mode if mode.startswith("bill_"))
BUSY = (500, "SYSTEM_ERROR", "the gateway is busy")
REFUSALS = {
    Mode.THROTTLES: (429, "FREQUENCY_LIMITED", "too many calls"),
    Mode.FAILS: BUSY,
    Mode.TIMES_OUT: BUSY,
    Mode.REFUSES_CALLS: (403, "NOT_ENOUGH", "the merchant lacks the money"),
    Mode.REFUSES_ADDRESS: (400, "INVALID_REQUEST", "此IP地址不允许调用接口"),
}
DONE_ALL_THE_SAME = {Mode.PAYS_AND_TIMES_OUT, Mode.PAYS_AND_FAILS, Mode.NOT_FOUND_THEN_FOUND}

# Longer than any caller waits for a response.
HANG_MS = 30_000
SLOW_MS = 1_500
# Number of queries that return NOT_FOUND although the record exists.
HIDDEN_QUERIES = 2


class Books(Protocol):
    """Parts of a provider's books that a policy may change."""

    def move(self, transfer: Transfer, state: str, reason: str = "") -> None:
        """Move a transfer to another state."""

    def end_consents(self) -> None:
        """Revoke all consents, as their users."""


@dataclass(frozen=True, slots=True)
class Call:
    """Request with a valid signature: an *action* of the core, and the record's number."""

    action: str
    number: str
    wanted: Any = None
    creates: bool = False
    is_authorized: bool = False


@dataclass(frozen=True, slots=True)
class Meeting:
    """Faults of one call: before, instead of, and after its execution."""

    mode: Mode = Mode.OK
    wait_ms: int = 0
    is_carried_out: bool = True
    hang_ms: int = 0
    refusal: Refused | None = None
    """Error response that replaces the answer."""


@dataclass(frozen=True, slots=True)
class Statement:
    """A day's lines as the provider reports them; with *is_damaged*, in a truncated file."""

    lines: list[Line]
    is_damaged: bool = False


@dataclass(slots=True)
class Policy:
    """Modes of a provider, drawn at random for each call, notification and statement.

    Each method decides one kind of fault; simulations override these methods. A draw depends on
    the seed, the subject, and the number of earlier draws for it, but not on the order of callers.
    """

    shares: Mapping[Mode, float] = field(default_factory=dict)
    seed: int = 0
    hang_ms: int = HANG_MS
    slow_ms: int = SLOW_MS
    _drawn: Counter[str] = field(default_factory=Counter)
    _hidden: Counter[str] = field(default_factory=Counter)

    @classmethod
    def of(cls, wanted: Any) -> Policy:  # noqa: ANN401 - JSON
        """Parse the body of `POST /_fake/mode`.

        The body has either one `mode` for everything, or `shares`, the probability of each mode:
        `{"times_out": 0.05}`. Raises ValueError.
        """
        names = {"mode", "shares", "seed", "hang_ms", "slow_ms"}
        if not isinstance(wanted, dict) or set(wanted) - names:
            raise ValueError(f"the body must be an object of {sorted(names)}")
        if ("mode" in wanted) == ("shares" in wanted):
            raise ValueError('give either "mode" or "shares"')
        shares = wanted.get("shares", {wanted.get("mode"): 1.0})
        if unknown := [name for name in shares if name not in set(Mode)]:
            raise ValueError(f"unknown mode {unknown[0]!r}: choose from {', '.join(Mode)}")
        return cls(
            {Mode(name): float(share) for name, share in shares.items()},
            int(wanted.get("seed", 0)),
            int(wanted.get("hang_ms", HANG_MS)),
            int(wanted.get("slow_ms", SLOW_MS)),
        )

    def draw(self, among: frozenset[Mode], subject: str) -> Mode:
        """Draw one of the modes *among* for *subject*; return OK if none is drawn."""
        kind = min(among)
        self._drawn[f"{kind}/{subject}"] += 1
        count = self._drawn[f"{kind}/{subject}"]
        left = Random(f"{self.seed}/{kind}/{subject}/{count}").random()  # noqa: S311 - no secret
        for mode, share in self.shares.items():
            if mode not in among:
                continue
            if left < share:
                return mode
            left -= share
        return Mode.OK

    def meet(self, books: Books, call: Call) -> Meeting:
        """Draw the faults of a call."""
        if call.action.startswith("find") and self._hidden[call.number]:
            self._hidden[call.number] -= 1
            code = "ORDER_NOT_EXIST" if call.action == "find_order" else "NOT_FOUND"
            return Meeting(is_carried_out=False, refusal=Refused(404, code))
        among = CREATING_CALL if call.creates else ANY_CALL
        mode = self.draw(among, f"{call.action} {call.number}")
        refusal = REFUSALS.get(mode)
        if mode is Mode.REFUSES and call.action != "transfer":
            refusal = (403, "NO_AUTH", "the merchant may not do this")
        if mode is Mode.AUTHORIZATION_WITHDRAWN and call.is_authorized:
            books.end_consents()
            refusal = (403, "USER_NOT_AUTHORIZED", "the user has not agreed")
        if mode is Mode.NOT_FOUND_THEN_FOUND and call.action in {"order", "transfer"}:
            self._hidden.setdefault(call.number, HIDDEN_QUERIES)
        answer = BUSY if mode in DONE_ALL_THE_SAME else refusal
        return Meeting(
            mode,
            wait_ms=self.slow_ms if mode is Mode.SLOW else 0,
            is_carried_out=refusal is None,
            hang_ms=self.hang_ms if mode in {Mode.TIMES_OUT, Mode.PAYS_AND_TIMES_OUT} else 0,
            refusal=Refused(*answer) if answer else None,
        )

    def after_transfer(self, books: Books, transfer: Transfer, meeting: Meeting) -> None:
        """Pay a transfer that needs no confirmation, or make it fail in mode REFUSES."""
        if meeting.mode is Mode.REFUSES:
            books.move(transfer, "failed", "ACCOUNT_FROZEN")
        elif transfer.state == "processing":
            books.move(transfer, "succeeded")

    def delivery(self, subject: str) -> Mode:
        """Draw the mode for a notification."""
        return self.draw(NOTIFICATION, subject)

    def statement(self, day: str, lines: list[Line]) -> Statement | None:
        """Return a day's statement with the drawn faults; None if it is not ready."""
        mode = self.draw(BILL, day)
        if mode is Mode.BILL_LATE:
            return None
        if mode is Mode.BILL_LINE_TWICE:
            lines = [*lines, *lines[:1]]
        if lines and mode is Mode.BILL_LINE_MISSING:
            lines = lines[1:]
        if lines and mode is Mode.BILL_LINE_CHANGED:
            lines = [replace(lines[0], amount_fen=lines[0].amount_fen + 1), *lines[1:]]
        return Statement(lines, is_damaged=mode is Mode.BILL_DAMAGED)
