"""Switches and limits on the deployed stack: refused in time, told when, and nothing is lost."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest
import redis

from local.ports import HOST
from local.stack import Stack
from redpacket.adapters.dynamo import keys
from redpacket.adapters.redis import keys as cache_keys
from redpacket.domain.checks.facts import Told
from redpacket.domain.limits import send_limit
from redpacket.flows.guards.cached_switches import KEPT_MS
from tests.integration.conftest import Eventually, Invoke, MakeUser, User, is_turned_away

# A test here counts what a sweep did.
pytestmark = pytest.mark.usefixtures("only_own_sweeps", "_everything_on")

SCHEDULE = {"source": "aws.events"}
WITHIN_S = 10
NAMES = ["send", "grab", "payout", "refund", "draw", "pay", "withdraw"]


def _turn(operator: User, name: str, *, is_on: bool, reason: str = "") -> dict[str, Any]:
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
    operator = User(stack, "operator", told, scope="hongbao/admin")
    for name in NAMES:
        _turn(operator, name, is_on=True)
    operator.http.close()


def _counts(stack: Stack, queue: str) -> dict[str, int]:
    kinds = {"waiting": "", "hidden": "NotVisible", "delayed": "Delayed"}
    names = {kind: f"ApproximateNumberOfMessages{suffix}" for kind, suffix in kinds.items()}
    found = stack.aws("sqs").get_queue_attributes(
        QueueUrl=stack.outputs[queue], AttributeNames=list(names.values())
    )["Attributes"]
    return {kind: int(found[name]) for kind, name in names.items()}


# ---------------------------------------------------------------- the routes


def test_all_switches_are_shown_with_since_when_and_why(operator: User) -> None:
    _turn(operator, "draw", is_on=False, reason="维护")

    shown = {item["name"]: item for item in operator.http.get("/admin/switches").json()["items"]}

    assert list(shown) == NAMES
    assert (shown["draw"]["on"], shown["draw"]["reason"]) == (False, "维护")
    assert abs(shown["draw"]["changed_at_ms"] - time.time() * 1000) < 60_000
    assert all(item.keys() == shown["draw"].keys() for item in shown.values())


def test_turning_a_switch_again_answers_the_same(operator: User) -> None:
    first = _turn(operator, "draw", is_on=False, reason="a")

    assert _turn(operator, "draw", is_on=False, reason="a") == first
    assert _turn(operator, "draw", is_on=True)["on"] is True


def test_switches_are_for_operators(a_user: MakeUser) -> None:
    user = a_user()

    answers = [
        user.http.get("/admin/switches"),
        user.http.put("/admin/switches/send", json={"on": False}),
        user.http.put("/admin/switches/nothing", json={"on": False}),
    ]

    assert all(map(is_turned_away, answers))
    assert user.send().json()["code"] == "insufficient_funds"


@pytest.mark.parametrize("name", ["nothing", "SEND", "send%20", "switches"])
def test_a_switch_that_is_not_there_is_not_found(operator: User, name: str) -> None:
    answer = operator.http.put(f"/admin/switches/{name}", json={"on": False})

    assert (answer.status_code, answer.json()["code"]) == (404, "switch_not_found")


@pytest.mark.parametrize(
    ("body", "wrong"),
    [
        ({}, "on"),
        ({"on": 0}, "on"),
        ({"on": "false"}, "on"),
        ({"on": None}, "on"),
        ({"on": False, "off": True}, "off"),
        ({"on": False, "reason": 1}, "reason"),
        ({"on": False, "reason": "a\nb"}, "reason"),
        ({"on": False, "reason": "a" * 101}, "reason"),
    ],
    ids=str,
)
def test_a_body_that_is_not_of_the_form_is_refused(
    operator: User, body: dict[str, Any], wrong: str
) -> None:
    answer = operator.http.put("/admin/switches/send", json=body)

    assert (answer.status_code, answer.json()["code"]) == (422, "invalid_request")
    assert wrong in {error["field"] for error in answer.json()["errors"]}


# ---------------------------------------------------------------- the limit of sends


def test_a_sender_who_is_too_fast_is_told_when_to_ask_again(stack: Stack, a_user: MakeUser) -> None:
    hasty, other = a_user(), a_user(funds_fen=2000)
    limit = send_limit(120, 300)
    assert other.send().status_code == httpx.codes.CREATED  # and the function is warm
    cache = redis.Redis(host=HOST, port=stack.redis_port)
    # Has sent 290 packets a moment ago.
    due_ms = int(time.time() * 1000) + 290 * limit.interval_ms
    cache.set(cache_keys.limit(limit.name, hasty.user_id), due_ms, px=290 * limit.interval_ms)
    cache.close()

    # Counted before it is read: what is wrong with it costs no money.
    with ThreadPoolExecutor(max_workers=4) as pool:
        answers = list(pool.map(lambda _: hasty.post("/packets", {}), range(60)))
    refused = [answer for answer in answers if answer.status_code == 429]
    passed = [answer for answer in answers if answer.status_code == 422]

    assert len(passed) + len(refused) == 60
    # Two more for each second that it took.
    assert 10 <= len(passed) < 60
    assert {answer.headers["content-type"] for answer in refused} == {"application/problem+json"}
    assert {answer.json()["code"] for answer in refused} == {"rate_limited"}
    assert other.send().status_code == httpx.codes.CREATED
    time.sleep(int(refused[-1].headers["retry-after"]))
    assert hasty.send().json()["code"] == "insufficient_funds"


# ---------------------------------------------------------------- payouts that are off


def _in_flight(stack: Stack) -> int:
    counts = _counts(stack, "PayoutQueueUrl")
    return counts["waiting"] + counts["hidden"]


def test_what_is_delivered_while_payouts_are_off_goes_back_with_all_its_receives(
    stack: Stack,
    a_user: MakeUser,
    operator: User,
    invoke: Invoke,
    dynamodb: Any,
    eventually: Eventually,
) -> None:
    taker = a_user()
    packet_id = a_user(funds_fen=1000).send(count=1).json()["packet_id"]
    # Claims of other tests would stay hidden for minutes, if they were delivered just now.
    eventually(lambda: _in_flight(stack) == 0)
    _turn(operator, "payout", is_on=False)
    # A payout process that paid just now still believes that it may, and the other way round below.
    time.sleep(KEPT_MS / 1000 + 0.5)
    # As a deployment may do that touches the mapping.
    functions = stack.aws("lambda")
    found = functions.list_event_source_mappings(FunctionName=stack.outputs["PayoutFunction"])
    mapping_id = found["EventSourceMappings"][0]["UUID"]
    stopped = found["EventSourceMappings"][0]["State"]
    functions.update_event_source_mapping(UUID=mapping_id, Enabled=True)

    claim = taker.grab(packet_id).json()
    eventually(lambda: _counts(stack, "PayoutQueueUrl")["delayed"] >= 1)
    # The message that was delivered is hidden until its receiver has answered.
    eventually(lambda: _in_flight(stack) == 0)
    balance_fen = taker.balance_fen()
    _turn(operator, "payout", is_on=True)
    time.sleep(KEPT_MS / 1000 + 0.5)
    # Not to wait a minute for the message: the sweep queues it again, and it is settled once.
    dynamodb.update_item(
        TableName=stack.outputs["SharesTable"],
        Key={name: {"S": value} for name, value in keys.share(packet_id, 1).items()},
        UpdateExpression="ADD work_at_ms :change",
        ExpressionAttributeValues={":change": {"N": "-61000"}},
    )
    eventually(lambda: invoke("ExpireFunction", SCHEDULE)["requeued_count"] >= 1)
    eventually(lambda: taker.balance_fen() == claim["amount_fen"])

    assert stopped == "Disabled"
    assert balance_fen == 0
    assert sum(_counts(stack, "PayoutDlqUrl").values()) == 0


# ---------------------------------------------------------------- the drill


def test_grabs_stop_and_go_on_within_ten_seconds_under_load(
    a_user: MakeUser, operator: User, eventually: Eventually
) -> None:
    """tests/unit/test_switches.py proves the same of every switch on a virtual clock."""
    packet_id = a_user(funds_fen=1000).send(count=100).json()["packet_id"]
    takers = [a_user() for _ in range(12)]
    asked: list[tuple[float, int, bool]] = []
    is_over = False

    def grab() -> None:
        for taker in itertools.cycle(takers):
            if is_over:
                return
            asked_at = time.monotonic()
            answer = taker.grab(packet_id)
            asked.append((asked_at, answer.status_code, _is_switched_off(answer)))
            time.sleep(0.05)

    def took_s(*, is_on: bool) -> float:
        """Turn the switch; return how long after it the last answer did not know it."""
        turned_at = time.monotonic()
        _turn(operator, "grab", is_on=is_on)
        eventually(lambda: {is_off for _, _, is_off in asked[-10:]} == {not is_on})
        late = [at - turned_at for at, _, is_off in asked if at > turned_at and is_off is is_on]
        return max(late, default=0.0)

    with ThreadPoolExecutor(max_workers=2) as pool:
        loops = [pool.submit(grab) for _ in range(2)]
        try:
            eventually(lambda: len(asked) >= 10)
            took = [took_s(is_on=False), took_s(is_on=True)]
        finally:
            is_over = True
    for loop in loops:
        loop.result()

    assert max(took) <= WITHIN_S
    assert {status for _, status, _ in asked} == {200, 503}
    assert all(taker.grab(packet_id).status_code == httpx.codes.OK for taker in takers)
