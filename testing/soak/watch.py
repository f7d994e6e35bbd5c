"""Record of a soak's requests and faults; a fault must explain every 5xx response."""

import re
import threading
import time
import uuid
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx

from local.client import NO_TLS

SLOW_S = 3.0
GRACE_S = 35.0
"""Seconds after a fault's end in which the fault still explains an answer: callers wait 30 s."""
PATIENCE_S = 180.0
"""Maximum seconds for which a caller retries a request until the outcome is known."""
LOST = 599
"""Status of a request whose connection broke."""

_ALL = ""
_MONEY = r"^/(me/(payments|withdrawals|wechat)|packets$)"
CAUSES: dict[str, str] = {
    "cache killed": _ALL,
    "cache frozen": _ALL,
    "functions killed": _ALL,
    "upgrade": _ALL,
    "tables restored": _ALL,
    "keys rotated": r"^/packets$|^/admin/campaigns",
    "gateway frozen": _MONEY,
    "wallet frozen": _MONEY,
    "gateway fails": _MONEY,
    "wallet fails": _MONEY,
    "receiver frozen": "^/admin/webhooks",
    "receiver fails": "^/admin/webhooks",
}
"""Pattern of the paths on which a fault can cause 5xx answers, keyed by fault."""


@dataclass(frozen=True, slots=True)
class Failure:
    """5xx response, or a request whose connection broke."""

    path: str
    status: int
    code: str
    began_at: float
    ended_at: float
    is_old: bool
    """Whether the earlier release was deployed."""


@dataclass
class Watch:
    """Counts and records of a soak, which threads share."""

    is_old: bool = True
    """Whether the earlier release is deployed, as it is when a soak begins."""
    requests: int = 0
    slow: int = 0
    faults: Counter[str] = field(default_factory=Counter)
    done: Counter[str] = field(default_factory=Counter)
    """Number of successes of each feature, and of refusals with each code."""
    violations: list[str] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    _windows: list[tuple[str, float, float]] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def did(self, feature: str) -> None:
        """Count a success of a feature."""
        with self._lock:
            self.done[feature] += 1

    def violated(self, text: str) -> None:
        """Record a violation."""
        with self._lock:
            self.violations.append(text)

    def answered(self, path: str, began_at: float, status: int, code: str) -> None:
        """Count an answer."""
        now = time.monotonic()
        with self._lock:
            self.requests += 1
            self.slow += now - began_at > SLOW_S
            if status >= httpx.codes.INTERNAL_SERVER_ERROR:
                failure = Failure(path, status, code, began_at, now, self.is_old)
                self.failures.append(failure)

    @contextmanager
    def fault(self, kind: str) -> Iterator[None]:
        """Record a fault from its start to its end."""
        began_at = time.monotonic()
        with self._lock:
            self.faults[kind] += 1
        try:
            yield
        finally:
            self.noted(kind, began_at)

    def noted(self, kind: str, began_at: float) -> None:
        """Record the time window of a fault that ends now, extended by GRACE_S."""
        with self._lock:
            self._windows.append((kind, began_at, time.monotonic() + GRACE_S))

    def unexplained(self, *, is_old: bool = False) -> list[Failure]:
        """Return the 5xx answers of this or the earlier release that no fault explains."""
        return [
            failure
            for failure in self.failures
            if failure.is_old is is_old
            and not any(
                began_at <= failure.ended_at
                and failure.began_at <= ended_at
                and re.search(CAUSES[kind], failure.path)
                for kind, began_at, ended_at in self._windows
            )
        ]


class Caller:
    """API client of a user, which retries a request until the outcome is known.

    A forgetful client uses a new key for each retry, as if the handler forgot idempotency keys.
    """

    def __init__(self, http: httpx.Client, watch: Watch, token: str) -> None:
        self._http, self._watch = http, watch
        self._token = {"Authorization": f"Bearer {token}"} if token else {}
        self.is_forgetful = False

    def ask(self, method: str, path: str, body: Any = None, key: str = "") -> httpx.Response:
        """Retry until a response is final or PATIENCE_S has passed, and return the response."""
        patient_until = time.monotonic() + PATIENCE_S
        while True:
            answer = self._once(method, path, body, key)
            code = code_of(answer)
            if answer.status_code < LOST and not _is_open(answer, code):
                return answer
            if code == "switched_off":  # an operator is still restoring tables
                patient_until = time.monotonic() + PATIENCE_S
            if time.monotonic() > patient_until:
                self._watch.violated(f"no final answer: {method} {path} {code} {answer.text[:200]}")
                return answer
            time.sleep(0.5)

    def _once(self, method: str, path: str, body: Any, key: str) -> httpx.Response:
        sent = uuid.uuid4().hex if self.is_forgetful or not key else key
        headers = {**self._token, "Idempotency-Key": sent}
        began_at = time.monotonic()
        try:
            answer = self._http.request(method, path, json=body, headers=headers)
        except httpx.TransportError as error:
            answer = httpx.Response(LOST, text=repr(error))
        self._watch.answered(path, began_at, answer.status_code, code_of(answer))
        return answer


def _is_open(answer: httpx.Response, code: str) -> bool:
    """Return whether a request must be retried because the outcome is unknown."""
    return answer.is_server_error or code == "idempotency_key_in_use"


def code_of(answer: httpx.Response) -> str:
    """Return a problem's code, or an empty string."""
    if answer.is_success:
        return ""
    try:
        told = answer.json()
    except ValueError:
        return "no JSON"
    return str(told.get("code", told.get("message", "")) if isinstance(told, dict) else "no object")


def client(url: str) -> httpx.Client:
    """Return an HTTP client that threads can share."""
    limits = httpx.Limits(max_connections=64, max_keepalive_connections=0)
    return httpx.Client(base_url=url, timeout=30, trust_env=False, verify=NO_TLS, limits=limits)
