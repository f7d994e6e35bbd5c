"""The soak's own judgments: which faults explain a 5xx, and a mirror's state after its events."""

import time
from typing import Any

import httpx
import pytest

from testing.soak.mirror import balances, last_events
from testing.soak.watch import Caller, Watch


def _event(kind: str, sequence: int, **data: Any) -> dict[str, Any]:
    told = {"packet_id": "p", "user": "bob", "sender": "ann", **data}
    return {"type": f"redpacket.{kind}", "sequence": f"{sequence:08}", "data": told}


def test_a_mirror_without_sequence_numbers_is_wrong_about_late_events() -> None:
    arrived = [
        _event("packet.closed", 3, refunded_fen=40),
        _event("packet.sent", 1, total_fen=100),
        _event("claim.settled", 2, amount_fen=60),
    ]

    right, naive = (last_events(arrived, is_naive=is_naive) for is_naive in (False, True))

    assert right == {"p": "redpacket.packet.closed"}
    assert naive == {"p": "redpacket.claim.settled"}
    assert balances(arrived) == {"ann": -60, "bob": 60}


@pytest.mark.parametrize(
    ("fault", "unexplained"), [("cache killed", 0), ("receiver frozen", 1), (None, 1)]
)
def test_only_a_fault_that_can_cause_it_explains_a_5xx(fault: str | None, unexplained: int) -> None:
    watch = Watch()
    began_at = time.monotonic()

    for watch.is_old in (True, False):
        watch.answered("/packets", began_at, 503, "unavailable")
    if fault:
        watch.noted(fault, began_at)

    for is_old in (True, False):
        assert len(watch.unexplained(is_old=is_old)) == unexplained


def test_a_forgetful_handler_sees_another_key_at_each_repeat() -> None:
    keys: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        keys.append(request.headers["Idempotency-Key"])
        return httpx.Response(201, json={})

    http = httpx.Client(transport=httpx.MockTransport(answer), base_url="http://api")
    caller = Caller(http, Watch(), "")
    for caller.is_forgetful in (False, True):
        for _ in range(2):
            caller.ask("POST", "/packets", {}, "key")

    assert keys[:2] == ["key", "key"]
    assert len({*keys[2:], "key"}) == 3
