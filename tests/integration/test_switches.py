"""Switches and limits on the deployed stack: refused in time, told when, and nothing is lost."""

from __future__ import annotations

import itertools
import logging
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest
import redis

from local.ports import HOST
from local.stack import Stack
from redpacket.adapters.dynamo import keys
from redpacket.adapters.redis import keys as cache_keys
from redpacket.domain.checks.facts import Told
from redpacket.domain.claim import Fate
from redpacket.domain.limits import send_limit
from redpacket.flows.guards.cached_switches import KEPT_MS
from testing.ledger_state import LedgerState
from tests.integration.conftest import Eventually, Invoke, MakeUser, User, is_turned_away

# The drill sweeps by itself.
pytestmark = pytest.mark.usefixtures("only_own_sweeps", "_everything_on")

log = logging.getLogger(__name__)

SCHEDULE = {"source": "aws.events"}
WITHIN_S = 10
SWEEP_S = 5
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


@dataclass(frozen=True)
class Answer:
    """One answer of the API, and when it was asked for."""

    what: str
    asked_at: float
    status: int
    is_off: bool


@dataclass
class Load:
    """Users who send and grab without a rest, and sweeps in between."""

    senders: list[User]
    takers: list[User]
    sweep: Callable[[], Any]
    answers: list[Answer] = field(default_factory=list)
    sent: list[str] = field(default_factory=list)
    recent: deque[str] = field(default_factory=lambda: deque(maxlen=6))
    is_over: bool = False

    @contextmanager
    def running(self) -> Iterator[None]:
        loops = [self._send, self._grab, self._grab, self._sweep]
        with ThreadPoolExecutor(max_workers=len(loops)) as pool:
            running: list[Future[None]] = [pool.submit(loop) for loop in loops]
            try:
                yield
            finally:
                self.is_over = True
        for loop in running:
            loop.result()

    def since(self, what: str, begin: float, end: float) -> list[Answer]:
        return [
            found for found in self.answers if found.what == what and begin <= found.asked_at < end
        ]

    def _note(self, what: str, asked_at: float, answer: httpx.Response) -> None:
        self.answers.append(Answer(what, asked_at, answer.status_code, _is_switched_off(answer)))

    def _send(self) -> None:
        for number in itertools.count():
            if self.is_over:
                return
            asked_at = time.time()
            sender = self.senders[number % len(self.senders)]
            # Some are emptied, all expire before the end.
            answer = sender.send(total_fen=30, count=3, expires_in_s=3)
            self._note("send", asked_at, answer)
            if answer.status_code == httpx.codes.CREATED:
                self.sent.append(answer.json()["packet_id"])
                self.recent.append(self.sent[-1])
            time.sleep(0.3)

    def _grab(self) -> None:
        for number in itertools.count(threading.get_ident() % 97):
            if self.is_over:
                return
            asked_at = time.time()
            # A packet that is over refuses too: that is an answer as well.
            packet_id = self.recent[number % len(self.recent)] if self.recent else "A" * 22
            answer = self.takers[number % len(self.takers)].grab(packet_id)
            self._note("grab", asked_at, answer)
            time.sleep(0.05)

    def _sweep(self) -> None:
        while not self.is_over:
            self.sweep()
            time.sleep(0.5)


def _took_s(load: Load, what: str, turned_at: float, until: float, *, is_off: bool) -> float:
    """Return how long the switch took: until the last request that it did not affect."""
    late = [
        found.asked_at - turned_at
        for found in load.since(what, turned_at, until)
        if found.is_off != is_off
    ]
    return max(late, default=0.0)


def test_each_switch_acts_within_ten_seconds_under_load_and_loses_nothing(
    stack: Stack,
    a_user: MakeUser,
    operator: User,
    invoke: Invoke,
    ledger_state: Callable[[], LedgerState],
    eventually: Eventually,
) -> None:
    load = Load(
        senders=[a_user(funds_fen=100_000) for _ in range(3)],
        takers=[a_user() for _ in range(12)],
        sweep=lambda: invoke("ExpireFunction", SCHEDULE),
    )
    # Large enough to be grabbed while sends are off.
    lasting = [load.senders[0].send(total_fen=1000, count=100).json() for _ in range(6)]

    def turn_off(*names: str) -> float:
        at = time.time()
        for name in names:
            _turn(operator, name, is_on=False)
        return at

    def turn_on(*names: str) -> float:
        at = time.time()
        for name in names:
            _turn(operator, name, is_on=True)
        return at

    with load.running():
        time.sleep(3)
        began = turn_off("send", "payout")
        load.recent.extend(packet["packet_id"] for packet in lasting)
        time.sleep(WITHIN_S + 4)
        held = stack.aws("sqs").receive_message(
            QueueUrl=stack.outputs["PayoutQueueUrl"],
            MaxNumberOfMessages=10,
            VisibilityTimeout=0,
            AttributeNames=["ApproximateReceiveCount"],
        )
        swapped = turn_on("send", "payout")
        turn_off("grab", "refund")
        time.sleep(WITHIN_S + 4)
        over = turn_on("grab", "refund")
        time.sleep(WITHIN_S + 2)
        ended = time.time()

    def is_at_rest() -> bool:
        load.sweep()
        facts = [found for found in ledger_state().packets if found.packet.packet_id in load.sent]
        counts = _counts(stack, "PayoutQueueUrl")
        return all(found.packet.status == "closed" for found in facts) and not any(counts.values())

    eventually(is_at_rest)
    ours = {*load.sent, *(packet["packet_id"] for packet in lasting)}
    shares = [
        share
        for found in ledger_state().packets
        if found.packet.packet_id in ours
        for share in found.shares
    ]
    claims = [share for share in shares if share.fate is Fate.CLAIMED]
    figures = {
        "send off": _took_s(load, "send", began, swapped, is_off=True),
        "send on": _took_s(load, "send", swapped, ended, is_off=False),
        "grab off": _took_s(load, "grab", swapped, over, is_off=True),
        "grab on": _took_s(load, "grab", over, ended, is_off=False),
        "payout off": _last(claims, "settled_at_ms", began, swapped),
        "payout on": _first(claims, "settled_at_ms", swapped),
        "refund off": _last(_refunds(shares), "decided_at_ms", swapped, over),
        "refund on": _first(_refunds(shares), "decided_at_ms", over),
    }
    asked = Counter((found.what, found.status) for found in load.answers)
    log.info("took %s s, %s claims, answers %s", figures, len(claims), asked)

    # In time, both ways; and the others went on meanwhile.
    refund_on_s = figures.pop("refund on")
    assert max(figures.values()) <= WITHIN_S, figures
    # The first refund is the work of a whole sweep: it closes what is due, and waits for the grace.
    assert refund_on_s <= WITHIN_S + SWEEP_S
    assert any(found.status == httpx.codes.OK for found in load.since("grab", began + 10, swapped))
    assert any(
        found.status == httpx.codes.CREATED for found in load.since("send", swapped + 10, over)
    )
    assert any(found.status == httpx.codes.OK for found in load.since("grab", over, ended))
    # Only refusals by a switch: each 503 is checked one by one.
    assert {found.status for found in load.answers} <= {200, 201, 404, 410, 503}
    assert all(found.is_off for found in load.answers if found.status == 503)
    # Nothing lost, and not a receive burnt: this one was the first.
    waited = [message["Attributes"]["ApproximateReceiveCount"] for message in held["Messages"]]
    assert set(waited) == {"1"}
    assert all(share.settled_at_ms for share in claims)
    assert sum(_counts(stack, "PayoutDlqUrl").values()) == 0


def _refunds(shares: list[Any]) -> list[Any]:
    return [share for share in shares if share.fate is Fate.REFUNDED]


def _last(shares: list[Any], name: str, begin: float, end: float) -> float:
    """Return how long after *begin* the last of *shares* was still written, before *end*."""
    times = [getattr(share, name) / 1000 for share in shares if getattr(share, name)]
    return float(max((at - begin for at in times if begin <= at < end), default=0.0))


def _first(shares: list[Any], name: str, begin: float) -> float:
    """Return how long after *begin* the first of *shares* was written."""
    times = [getattr(share, name) / 1000 for share in shares if getattr(share, name)]
    return float(min(at - begin for at in times if at >= begin))
