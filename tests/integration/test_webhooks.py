"""Outgoing events from the deployed stack: streams, the queue, signed POST requests, and a failing
receiver.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeAlias

import httpx
import pytest

from local.client import NO_TLS
from local.stack import Stack
from tests.integration.conftest import Eventually, HttpUser, Invoke, MakeUser

SHARES = 4
EVENTS = [
    *(f"redpacket.packet.{word}" for word in ("sent", "claimed", "emptied", "closed")),
    "redpacket.claim.settled",
]
EXPECTED = {"sent": 1, "claimed": SHARES, "settled": SHARES, "emptied": 1, "closed": 1}
WITHIN_S = 90
"""Seconds to wait. Each kind of work starts its own function, and the machine may be busy."""

_Event: TypeAlias = dict[str, Any]


class Endpoint:
    """Webhook of the stack, and the receiver behind it."""

    def __init__(self, stack: Stack, boss: HttpUser, name: str) -> None:
        self.http = httpx.Client(
            base_url=stack.receiver, timeout=30, trust_env=False, verify=NO_TLS
        )
        self.name, self.path, self._boss = name, f"/admin/webhooks/{name}", boss
        self.url = f"{stack.receiver}/events/{name}"
        self.become(secret=self.put()["secret"])

    def put(self, *, is_on: bool = True) -> dict[str, Any]:
        body = {"url": self.url, "events": EVENTS, "is_on": is_on}
        answer = self._boss.http.put(self.path, json=body)
        assert answer.is_success, answer.text
        return dict(answer.json())

    def become(self, **told: str) -> None:
        assert self.http.put(f"/_fake/{self.name}", json=told).is_success

    def seen(self) -> dict[str, Any]:
        return dict(self.http.get(f"/_fake/{self.name}").json())

    def told_of(self, packet_id: str) -> list[_Event]:
        return [
            event for event in self.seen()["events"] if event["data"].get("packet_id") == packet_id
        ]

    def details(self) -> dict[str, Any]:
        return dict(self._boss.http.get(self.path).json())


MakeEndpoint: TypeAlias = Callable[[str], Endpoint]


@pytest.fixture
def an_endpoint(stack: Stack, operator: HttpUser) -> Iterator[MakeEndpoint]:
    """Return a factory of webhooks for one test, whose names no other test may use."""
    made: list[Endpoint] = []

    def make(name: str) -> Endpoint:
        made.append(Endpoint(stack, operator, name))
        return made[-1]

    yield make
    for endpoint in made:
        endpoint.put(is_on=False)
        endpoint.http.close()


def _kinds(events: list[_Event]) -> Counter[str]:
    return Counter(event["type"].rpartition(".")[2] for event in events)


def test_nothing_is_lost_while_a_receiver_is_down_and_no_other_receiver_waits(
    an_endpoint: MakeEndpoint, a_user: MakeUser, invoke: Invoke, eventually: Eventually
) -> None:
    down, live = an_endpoint("store"), an_endpoint("archive")
    down.become(mode="down")
    sender, claimers = a_user(funds_fen=2_000), [a_user() for _ in range(SHARES)]

    def answer_of(ask: Callable[[], httpx.Response]) -> dict[str, Any]:
        # On a busy machine, the API may return 503, which asks for a retry.
        return dict(
            eventually(lambda: (response := ask()).is_success and response.json(), WITHIN_S)
        )

    sent = answer_of(lambda: sender.send("the one packet", total_fen=2_000, count=SHARES))
    packet_id = sent["packet_id"]
    with ThreadPoolExecutor(SHARES) as pool:
        claims = pool.map(lambda claimer: answer_of(lambda: claimer.grab(packet_id)), claimers)
    amounts_fen = {
        claimer.host_id: claim["amount_fen"]
        for claimer, claim in zip(claimers, claims, strict=True)
    }

    def told_all() -> list[_Event]:
        told = live.told_of(packet_id)
        if EXPECTED.items() - _kinds(told).items() == {("closed", 1)}:
            # If the last claim settled before an earlier one, closing waits for a retry or a sweep.
            invoke("ExpireFunction", {})
        return told if _kinds(told) == EXPECTED else []

    told = eventually(told_all, WITHIN_S)
    assert down.told_of(packet_id) == []
    event_count = sum(EXPECTED.values())
    eventually(lambda: down.details()["waiting_count"] >= event_count, WITHIN_S)

    # The receiver works again. An edit resets the webhook's failures, and the retry task sends all
    # events.
    down.become(mode="ok")
    down.put()

    def told_later() -> list[_Event]:
        # A failed delivery is retried only after a few seconds.
        invoke("DeliverFunction", {"task": "retry"})
        late = down.told_of(packet_id)
        return late if len(late) >= event_count else []

    late = eventually(told_later, WITHIN_S)

    # Both receivers got the same events, and neither got an event twice.
    assert {each["id"]: each for each in late} == {each["id"]: each for each in told}
    assert len(late) == len(told) == len({each["id"] for each in told})
    claimed = [each["data"] for each in told if each["type"].endswith("claimed")]
    assert {each["user"]: each["amount_fen"] for each in claimed} == amounts_fen
    assert {each["sender"] for each in claimed} == {sender.host_id}
    assert live.seen()["refused_count"] == down.seen()["refused_count"] == 0


def test_a_webhook_is_tested_and_its_secret_replaced(
    an_endpoint: MakeEndpoint, operator: HttpUser
) -> None:
    till = an_endpoint("till")

    tried = operator.http.post(f"{till.path}/test").json()
    assert (tried["ok"], tried["status"]) == (True, 204)
    new = operator.http.post(f"{till.path}/secret").json()["secret"]
    with_old = operator.http.post(f"{till.path}/test").json()
    till.become(secret=new)
    with_new = operator.http.post(f"{till.path}/test").json()

    assert with_old["ok"], "the old secret signs for a day"
    assert with_new["ok"]
    assert till.seen()["refused_count"] == 0
    assert operator.http.post(f"{till.path}/replay").json() == {
        "replayed_count": 0,
        "is_complete": True,
    }
    listed = operator.http.get("/admin/webhooks").json()["items"]
    assert "till" in {each["name"] for each in listed}
    assert not any(secret in str(listed) for secret in ("secret", new))
