"""How a counterparty misbehaves: what a test or a person asked for by `POST /_fake/mode`."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from random import Random
from typing import Any


class Mode(StrEnum):
    """One way to behave."""

    OK = "ok"
    # What a call that creates something gets.
    PAYS_AND_TIMES_OUT = "pays_and_times_out"
    TIMES_OUT = "times_out"
    PAYS_AND_FAILS = "pays_and_fails"
    REFUSES = "refuses"
    REFUSES_CALLS = "refuses_calls"
    NOT_FOUND_THEN_FOUND = "not_found_then_found"
    AUTHORIZATION_WITHDRAWN = "authorization_withdrawn"
    # WeChat Pay always asks; a host's wallet does in this mode alone.
    ASKS_CONFIRMATION = "asks_confirmation"
    # What any call gets.
    SLOW = "slow"
    THROTTLES = "throttles"
    FAILS = "fails"
    # What becomes of notifications.
    DUPLICATE_NOTIFICATIONS = "duplicate_notifications"
    NO_NOTIFICATIONS = "no_notifications"
    FORGED_NOTIFICATIONS = "forged_notifications"
    STALE_NOTIFICATIONS = "stale_notifications"
    REORDERED_NOTIFICATIONS = "reordered_notifications"
    # What becomes of bill files.
    BILL_LINE_MISSING = "bill_line_missing"
    BILL_LINE_CHANGED = "bill_line_changed"
    BILL_DAMAGED = "bill_damaged"


ANY_CALL = frozenset({Mode.SLOW, Mode.THROTTLES, Mode.FAILS})
CREATING_CALL = ANY_CALL | {
    *(Mode.PAYS_AND_TIMES_OUT, Mode.TIMES_OUT, Mode.PAYS_AND_FAILS, Mode.REFUSES),
    *(Mode.REFUSES_CALLS, Mode.NOT_FOUND_THEN_FOUND, Mode.AUTHORIZATION_WITHDRAWN),
    Mode.ASKS_CONFIRMATION,
}
NOTIFICATION = frozenset(mode for mode in Mode if mode.endswith("_notifications"))
BILL = frozenset(mode for mode in Mode if mode.startswith("bill_"))

# Longer than any caller waits for an answer.
HANG_MS = 30_000
SLOW_MS = 1_500
# How many queries get NOT_FOUND for what is there already.
HIDDEN_QUERIES = 2


@dataclass(slots=True)
class Modes:
    """Which mode each call, notification and bill file gets; the same ones for the same seed.

    A draw depends on the seed, on what is asked about, and on how often that was asked before; not
    on the order in which callers come.
    """

    shares: Mapping[Mode, float] = field(default_factory=dict)
    seed: int = 0
    hang_ms: int = HANG_MS
    slow_ms: int = SLOW_MS
    _drawn: Counter[str] = field(default_factory=Counter)

    @classmethod
    def of(cls, wanted: Any) -> "Modes":  # noqa: ANN401 - JSON
        """Read the body of `POST /_fake/mode`; a ValueError says what is wrong with it.

        Either `mode` for everything, or `shares` for a part each: `{"times_out": 0.05}`.
        """
        if not isinstance(wanted, dict):
            raise ValueError("the body must be an object")  # noqa: TRY004 - JSON from outside
        unknown = set(wanted) - {"mode", "shares", "seed", "hang_ms", "slow_ms"}
        if unknown or ("mode" in wanted) == ("shares" in wanted):
            raise ValueError('"mode" or "shares", and perhaps "seed", "hang_ms" and "slow_ms"')
        shares = wanted.get("shares", {wanted.get("mode"): 1.0})
        return cls(
            {Mode(name): float(share) for name, share in shares.items()},
            int(wanted.get("seed", 0)),
            int(wanted.get("hang_ms", HANG_MS)),
            int(wanted.get("slow_ms", SLOW_MS)),
        )

    def draw(self, among: frozenset[Mode], subject: str) -> Mode:
        """Return the mode that *subject* gets this time, of those *among*."""
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
