"""Switches on the deployed stack: they take effect in time, their refusals state a delay, and
nothing is lost.
"""

import itertools
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from local.stack import Stack
from redpacket.operations.use_cases.cached_switches import KEPT_MS
from testing.reconciliation.checks import Told
from tests.integration.conftest import Eventually, HttpUser, MakeUser

# A scheduled sweep would change the results that a test counts.
pytestmark = pytest.mark.usefixtures("only_own_sweeps", "_everything_on")

WITHIN_S = 10
NAMES = ["send", "grab", "payout", "refund", "draw", "pay", "withdraw"]


def _turn(operator: HttpUser, name: str, *, is_on: bool, reason: str = "") -> dict[str, Any]:
    answer = operator.http.put(f"/admin/switches/{name}", json={"on": is_on, "reason": reason})
    assert answer.status_code == httpx.codes.OK, answer.text
    state: dict[str, Any] = answer.json()
    return state


def _is_switched_off(answer: httpx.Response) -> bool:
    if answer.status_code != httpx.codes.SERVICE_UNAVAILABLE:
        return False
    assert answer.headers["content-type"] == "application/problem+json"
    assert (answer.json()["code"], answer.headers["retry-after"]) == ("switched_off", "10")
    return True


@pytest.fixture(scope="module")
def _everything_on(stack: Stack, told: list[Told]) -> Iterator[None]:
    yield
    operator = HttpUser(stack, "operator", told, scope="hongbao/admin")
    for name in NAMES:
        _turn(operator, name, is_on=True)
    operator.http.close()


def _counts(stack: Stack, queue: str) -> dict[str, int]:
    kinds = {"waiting": "", "hidden": "NotVisible", "delayed": "Delayed"}
    names = {kind: f"ApproximateNumberOfMessages{suffix}" for kind, suffix in kinds.items()}
    attributes = stack.aws("sqs").get_queue_attributes(
        QueueUrl=stack.outputs[queue], AttributeNames=list(names.values())
    )["Attributes"]
    return {kind: int(attributes[name]) for kind, name in names.items()}


# ---------------------------------------------------------------- disabled payouts


def _in_flight(stack: Stack) -> int:
    counts = _counts(stack, "PayoutQueueUrl")
    return counts["waiting"] + counts["hidden"]


def test_messages_delivered_while_payouts_are_off_are_returned_with_their_full_receive_count(
    stack: Stack,
    a_user: MakeUser,
    operator: HttpUser,
    eventually: Eventually,
) -> None:
    claimer = a_user()
    packet_id = a_user(funds_fen=1000).send(count=1).json()["packet_id"]
    # Wait until no message is in flight: the payout function would also delay other tests' claims,
    # which would satisfy the check below.
    eventually(lambda: _in_flight(stack) == 0)
    _turn(operator, "payout", is_on=False)
    # Wait, here and below, until warm payout processes have read the changed switch.
    time.sleep(KEPT_MS / 1000 + 0.5)
    claim = claimer.grab(packet_id).json()
    eventually(lambda: _counts(stack, "PayoutQueueUrl")["delayed"] >= 1)
    # The delivered message stays in flight until the function returns.
    eventually(lambda: _in_flight(stack) == 0)
    balance_fen = claimer.balance_fen()
    _turn(operator, "payout", is_on=True)
    time.sleep(KEPT_MS / 1000 + 0.5)
    eventually(lambda: claimer.balance_fen() == claim["amount_fen"])

    assert balance_fen == 0
    assert sum(_counts(stack, "PayoutDlqUrl").values()) == 0


# ---------------------------------------------------------------- the drill


def test_grabs_stop_and_resume_within_ten_seconds_under_load(
    a_user: MakeUser, operator: HttpUser, eventually: Eventually
) -> None:
    """tests/unit/operations/test_switches.py tests this for every process, on a virtual clock."""
    packet_id = a_user(funds_fen=1000).send(count=100).json()["packet_id"]
    claimers = [a_user() for _ in range(12)]
    calls: list[tuple[float, int, bool]] = []
    is_over = False

    def grab() -> None:
        for claimer in itertools.cycle(claimers):
            if is_over:
                return
            asked_at = time.monotonic()
            answer = claimer.grab(packet_id)
            calls.append((asked_at, answer.status_code, _is_switched_off(answer)))
            time.sleep(0.05)

    def took_s(*, is_on: bool) -> float:
        """Turn the switch; return the seconds until the last grab that the old state answered."""
        turned_at = time.monotonic()
        _turn(operator, "grab", is_on=is_on)
        eventually(lambda: {is_off for _, _, is_off in calls[-10:]} == {not is_on})
        late = [at - turned_at for at, _, is_off in calls if at > turned_at and is_off is is_on]
        return max(late, default=0.0)

    with ThreadPoolExecutor(max_workers=2) as pool:
        loops = [pool.submit(grab) for _ in range(2)]
        try:
            eventually(lambda: len(calls) >= 10)
            took = [took_s(is_on=False), took_s(is_on=True)]
        finally:
            is_over = True
    for loop in loops:
        loop.result()

    assert max(took) <= WITHIN_S
    assert {status for _, status, _ in calls} == {200, 503}
    assert all(claimer.grab(packet_id).status_code == httpx.codes.OK for claimer in claimers)
