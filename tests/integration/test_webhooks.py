"""Events out of the deployed stack: streams, queue, signed posts, and a receiver that is down."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from local.client import NO_TLS
from local.stack import Stack
from tests.integration.conftest import Eventually, Invoke, MakeUser, User

SHARES = 6


class Endpoint:
    """A webhook of the stack, and the receiver behind it."""

    def __init__(self, stack: Stack, boss: User, name: str) -> None:
        self.http = httpx.Client(
            base_url=stack.receiver, timeout=10, trust_env=False, verify=NO_TLS
        )
        self.name, self.path, self._boss = name, f"/admin/webhooks/{name}", boss
        self.url = f"{stack.receiver}/events/{name}"
        made = boss.http.put(self.path, json={"url": self.url, "events": EVENTS})
        assert made.status_code == httpx.codes.CREATED, made.text
        self.become(secret=made.json()["secret"])

    def become(self, **told: str) -> None:
        assert self.http.put(f"/_fake/{self.name}", json=told).is_success

    def seen(self) -> dict[str, Any]:
        found: dict[str, Any] = self.http.get(f"/_fake/{self.name}").json()
        return found

    def details(self) -> dict[str, Any]:
        found: dict[str, Any] = self._boss.http.get(self.path).json()
        return found

    def turn_off(self) -> None:
        body = {"url": self.url, "events": EVENTS, "is_on": False}
        assert self._boss.http.put(self.path, json=body).status_code == httpx.codes.OK
        self.http.close()


EVENTS = [
    *(f"redpacket.packet.{word}" for word in ("sent", "claimed", "emptied", "closed")),
    "redpacket.claim.settled",
]


@pytest.fixture
def endpoints(stack: Stack, operator: User) -> Iterator[tuple[Endpoint, Endpoint]]:
    made = Endpoint(stack, operator, "shop"), Endpoint(stack, operator, "archive")
    yield made
    for one in made:
        one.turn_off()


def test_nothing_is_lost_while_a_receiver_is_down_and_no_other_waits_for_it(
    endpoints: tuple[Endpoint, Endpoint],
    a_user: MakeUser,
    operator: User,
    invoke: Invoke,
    eventually: Eventually,
) -> None:
    down, live = endpoints
    down.become(mode="down")
    sender, takers = a_user(funds_fen=5_000), [a_user() for _ in range(SHARES)]
    packet_id = sender.send(total_fen=2_000, count=SHARES).json()["packet_id"]

    def amount_fen(taker: User) -> int:
        # A machine that is busy may answer 503, which asks for another try.
        claim = eventually(lambda: (said := taker.grab(packet_id)).is_success and said.json())
        return int(claim["amount_fen"])

    with ThreadPoolExecutor(4) as pool:
        amounts = list(pool.map(amount_fen, takers))
    amounts_fen = dict(zip((taker.host_id for taker in takers), amounts, strict=True))

    def of_packet(endpoint: Endpoint) -> list[dict[str, Any]]:
        events = endpoint.seen()["events"]
        return [one for one in events if one["data"].get("packet_id") == packet_id]

    expected = 1 + SHARES + SHARES + 2

    def told_all() -> list[dict[str, Any]]:
        # The sweep closes a packet whose last claims were settled apart.
        invoke("ExpireFunction", {})
        found = of_packet(live)
        return found if len(found) == expected else []

    told = eventually(told_all)
    assert of_packet(down) == []
    eventually(lambda: down.details()["waiting_count"] >= expected)

    # The receiver is back: an edit forgives its failures, and the next minute's sweep sends all.
    down.become(mode="ok")
    body = {"url": down.url, "events": EVENTS}
    assert operator.http.put(down.path, json=body).status_code == httpx.codes.OK

    def sweep() -> bool:
        invoke("DeliverFunction", {"task": "retry"})
        return len(of_packet(down)) == expected

    # What failed by itself waits for some seconds.
    eventually(sweep)

    for events in (told, of_packet(down)):
        assert len({one["id"] for one in events}) == expected
        kinds = Counter(one["type"].rpartition(".")[2] for one in events)
        assert kinds == {
            "sent": 1, "claimed": SHARES, "settled": SHARES, "emptied": 1, "closed": 1,
        }  # fmt: skip
        claimed = [one["data"] for one in events if one["type"].endswith("claimed")]
        assert {one["user"]: one["amount_fen"] for one in claimed} == amounts_fen
        assert {one["sender"] for one in claimed} == {sender.host_id}
    assert {one["id"] for one in told} == {one["id"] for one in of_packet(down)}
    assert live.seen()["refused_count"] == down.seen()["refused_count"] == 0


def test_a_webhook_is_tried_and_its_secret_replaced(
    endpoints: tuple[Endpoint, Endpoint], operator: User
) -> None:
    shop, _ = endpoints

    tried = operator.http.post(f"{shop.path}/test").json()
    assert (tried["ok"], tried["status"]) == (True, 204)
    new = operator.http.post(f"{shop.path}/secret").json()["secret"]
    again = operator.http.post(f"{shop.path}/test").json()
    shop.become(secret=new)
    with_new = operator.http.post(f"{shop.path}/test").json()

    assert again["ok"], "the old secret signs for a day"
    assert with_new["ok"]
    assert operator.http.post(f"{shop.path}/replay").json() == {
        "replayed_count": 0,
        "is_complete": True,
    }
    listed = operator.http.get("/admin/webhooks").json()["items"]
    assert {one["name"] for one in listed} >= {"shop", "archive"}
    assert "secret" not in str(listed)
