"""Every event of events/ does to the deployed function what its name says."""

from __future__ import annotations

import hashlib
import json
import time
from pathlib import Path
from typing import Any

import pytest

from local.packet_ids import PUBLISHED_IDS
from local.stack import Stack
from redpacket.adapters.aws.messages import settle_message
from redpacket.adapters.dynamo.claims import DynamoClaims
from redpacket.adapters.dynamo.client import Dynamo
from redpacket.adapters.dynamo.funding import DynamoFunding
from redpacket.domain.claim import ShareRef
from redpacket.domain.packet import Packet, Person
from redpacket.ports.accounts import Request
from testing.builders import a_claim, a_funding, a_packet, some_terms
from tests.integration.conftest import Invoke, MakeUser, User, user_ids

# One of them is a sweep.
pytestmark = pytest.mark.usefixtures("only_own_sweeps")

EVENTS = Path(__file__).parents[2] / "events"
SENDER, TAKER = "event-sender", "event-taker"


class Desk:
    """Makes packets with the ids that the events name, by the ledger's own adapters."""

    def __init__(self, stack: Stack, dynamodb: Any, operator: User) -> None:
        self._sender_id = user_ids(stack).id_of(SENDER)
        dynamo = Dynamo(lambda: dynamodb)
        names = ("Accounts", "Packets", "Campaigns", "Profiles", "Shares", "Quotas", "Audience")
        tables = [stack.outputs[f"{name}Table"] for name in names]
        self._funding = DynamoFunding(dynamo, *tables[:4])
        self._claims = DynamoClaims(dynamo, *tables[4:])
        self._operator = operator

    def deposit(self, fen: int) -> None:
        body = {"user": SENDER, "amount_fen": fen}
        assert self._operator.post("/admin/deposits", body).is_success

    def send(self, packet_id: str, count: int, created_at_ms: int | None = None) -> Packet:
        """Fund a packet as a send does that dies before it loads the cache."""
        packet = a_packet(
            packet_id=packet_id,
            sender=Person(self._sender_id),
            terms=some_terms(total_fen=1000, count=count),
            created_at_ms=created_at_ms or int(time.time() * 1000),
        )
        self.deposit(1000)
        self._funding.fund(packet, a_funding(packet), Request(self._sender_id, packet_id, "hash"))
        return packet

    def claim(self, packet: Packet, share_no: int, user_id: str) -> int:
        """Make a claim durable as a grab does that dies before it queues the payout."""
        claim = a_claim(packet, share_no, user_id, decided_at_ms=int(time.time() * 1000))
        self._claims.record_claim(claim)
        return claim.amount_fen


@pytest.fixture
def desk(stack: Stack, dynamodb: Any, operator: User) -> Desk:
    return Desk(stack, dynamodb, operator)


def _id(name: str) -> str:
    """Return the id with that name, as the events have it: signed with the published key."""
    return PUBLISHED_IDS.sign(name)


def _event(name: str) -> dict[str, Any]:
    event: dict[str, Any] = json.loads((EVENTS / f"{name}.json").read_text())
    return event


def _answer(result: dict[str, Any]) -> tuple[int, dict[str, Any]]:
    return result["statusCode"], json.loads(result["body"])


def test_send_sends_a_lucky_packet_once(desk: Desk, invoke: Invoke, a_user: MakeUser) -> None:
    desk.deposit(1000)
    before_fen = a_user(SENDER).balance_fen()

    status, packet = _answer(invoke("SendFunction", _event("send")))
    again = _answer(invoke("SendFunction", _event("send")))

    assert (status, packet["kind"], packet["count"]) == (201, "lucky", 5)
    assert again == (status, packet)
    assert a_user(SENDER).balance_fen() == before_fen - 1000
    assert a_user().record(packet["packet_id"])["status"] == "open"


def test_send_equal_sends_an_equal_packet(desk: Desk, invoke: Invoke, a_user: MakeUser) -> None:
    desk.deposit(1000)

    status, packet = _answer(invoke("SendFunction", _event("send_equal")))

    assert (status, packet["kind"], packet["split"]) == (201, "equal", "equal")
    assert a_user().grab(packet["packet_id"]).json()["amount_fen"] == 200


def test_grab_win_claims_a_share(desk: Desk, invoke: Invoke, a_user: MakeUser) -> None:
    packet = desk.send(_id("event-win-000000000001"), count=2)

    status, claim = _answer(invoke("GrabFunction", _event("grab_win")))

    assert (status, claim["outcome"]) == (200, "claimed")
    (shown,) = a_user().record(packet.packet_id)["claims"]
    assert (shown["share_no"], shown["amount_fen"]) == (claim["share_no"], claim["amount_fen"])


def test_grab_repeat_gets_the_same_share(desk: Desk, invoke: Invoke) -> None:
    desk.send(_id("event-repeat-000000001"), count=2)
    _, first = _answer(invoke("GrabFunction", _event("grab_repeat")))

    status, claim = _answer(invoke("GrabFunction", _event("grab_repeat")))

    assert (status, claim["outcome"]) == (200, "already_claimed")
    assert (claim["share_no"], claim["amount_fen"]) == (first["share_no"], first["amount_fen"])


def test_grab_sold_out_gets_nothing(desk: Desk, invoke: Invoke, a_user: MakeUser) -> None:
    packet = desk.send(_id("event-sold-out-0000001"), count=1)
    a_user().grab(packet.packet_id)

    status, problem = _answer(invoke("GrabFunction", _event("grab_sold_out")))

    assert (status, problem["code"]) == (410, "packet_emptied")


def test_grab_expired_gets_nothing(desk: Desk, invoke: Invoke) -> None:
    # The builder's packets live for a minute.
    desk.send(
        _id("event-expired-00000001"), count=1, created_at_ms=int(time.time() * 1000) - 61_000
    )

    status, problem = _answer(invoke("GrabFunction", _event("grab_expired")))

    assert (status, problem["code"]) == (410, "packet_expired")


def test_draw_wins_a_prize_once(operator: User, invoke: Invoke) -> None:
    now_ms = int(time.time() * 1000)
    plan = {"title": "抽奖", "starts_at_ms": now_ms, "ends_at_ms": now_ms + 60_000, "status": "on"}
    prize = {"title": "手机", "kind": "goods", "weight": 1, "total": 1}
    plan["draw_beacon"] = "none"
    path = "/admin/campaigns/event-lottery"
    assert operator.http.put(path, json=plan).is_success
    assert operator.http.put(f"{path}/prizes/phone", json=prize).is_success

    status, drawn = _answer(invoke("LotteryFunction", _event("draw")))
    again = _answer(invoke("LotteryFunction", _event("draw")))

    assert (status, drawn["outcome"], drawn["prize"]["prize_id"]) == (200, "won", "phone")
    assert again == (status, drawn)


def test_settle_batch_pays_two_claims_and_returns_the_poison(
    desk: Desk, invoke: Invoke, a_user: MakeUser
) -> None:
    packet = desk.send(_id("event-settle-000000001"), count=3)
    takers = [a_user(), a_user()]
    amounts_fen = [
        desk.claim(packet, share_no, taker.user_id) for share_no, taker in enumerate(takers, 1)
    ]
    event = _event("settle_batch")

    answers = [invoke("PayoutFunction", event) for _ in range(2)]

    poison = event["Records"][1]["messageId"]
    assert answers == [{"batchItemFailures": [{"itemIdentifier": poison}]}] * 2
    assert [taker.balance_fen() for taker in takers] == amounts_fen
    record = a_user().record(packet.packet_id)
    assert [claim["payout"] for claim in record["claims"]] == ["settled", "settled"]


def test_sweep_refunds_what_is_due(desk: Desk, invoke: Invoke, a_user: MakeUser) -> None:
    now_ms = int(time.time() * 1000)
    packet = desk.send(_id("event-sweep-0000000001"), count=4, created_at_ms=now_ms - 121_000)
    before_fen = a_user(SENDER).balance_fen()

    # It was never loaded: the first sweep does that, and then it is due.
    reports = [invoke("ExpireFunction", _event("sweep")) for _ in range(2)]

    assert reports[0]["loaded_count"] >= 1
    assert reports[1]["closed_count"] >= 1
    record = a_user().record(packet.packet_id)
    assert (record["status"], record["refunded_fen"]) == ("closed", 1000)
    assert a_user(SENDER).balance_fen() >= before_fen + 1000


def test_pay_begins_a_payment_once(invoke: Invoke) -> None:
    status, payment = _answer(invoke("PaymentFunction", _event("pay")))
    again = _answer(invoke("PaymentFunction", _event("pay")))

    assert (status, payment["status"], payment["channel"]) == (201, "pending", "host")
    assert again == (status, payment)


def test_withdraw_holds_the_money_and_dispatch_pays_it_out(
    desk: Desk, invoke: Invoke, a_user: MakeUser
) -> None:
    desk.deposit(300)
    before_fen = a_user(SENDER).balance_fen()

    status, held = _answer(invoke("PaymentFunction", _event("withdraw")))
    again_status, again = _answer(invoke("PaymentFunction", _event("withdraw")))
    called = invoke("TransferFunction", _event("dispatch"))
    looked = invoke("TransferFunction", _event("look"))

    assert (status, held["status"]) == (202, "queued")
    assert (again_status, again["withdrawal_id"]) == (202, held["withdrawal_id"])
    assert a_user(SENDER).balance_fen() == before_fen - 300
    assert called["host"]["answered_count"] >= 1
    assert looked["failed_count"] == 0
    path = f"/me/withdrawals/{held['withdrawal_id']}"
    assert a_user(SENDER).http.get(path).json()["status"] == "paid"


def test_a_forged_callback_is_refused(invoke: Invoke) -> None:
    status, problem = _answer(invoke("GatewayFunction", _event("callback_forged")))

    assert (status, problem["code"]) == (401, "signature_invalid")


def test_a_batch_of_notices_returns_the_poison(invoke: Invoke) -> None:
    event = _event("notice_batch")

    answer = invoke("TransferFunction", event)

    poison = event["Records"][1]["messageId"]
    assert answer == {"batchItemFailures": [{"itemIdentifier": poison}]}


def test_the_bills_of_a_day_are_compared(invoke: Invoke) -> None:
    report = invoke("TransferFunction", _event("compare_bills"))

    assert set(report) == {"host", "wechat"}
    assert [bill["differences"] for bill in report.values()] == [[], []]


def test_the_events_messages_are_those_that_a_grab_puts_into_the_queue() -> None:
    good = [_event("settle_batch")["Records"][number] for number in (0, 2)]

    for share_no, record in enumerate(good, start=1):
        body = json.loads(record["body"])
        ref = ShareRef(_id("event-settle-000000001"), share_no)
        assert body == settle_message(ref, body["occurred_at_ms"])
        md5 = hashlib.md5(record["body"].encode(), usedforsecurity=False)
        assert record["md5OfBody"] == md5.hexdigest()


def test_every_event_is_described_and_nothing_else() -> None:
    described = [
        line.split("`")[1]
        for line in (EVENTS / "README.md").read_text().splitlines()
        if line.startswith("| `")
    ]

    assert sorted(described) == sorted(path.name for path in EVENTS.glob("*.json"))
