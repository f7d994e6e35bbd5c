"""Events in events/ for the in-memory system: each has the effect that its name states."""

import hashlib
import json
from typing import Any

import pytest

from local.packet_ids import PUBLISHED_IDS
from local.places import ROOT
from redpacket.containers import containers
from redpacket.packets.clients.sqs_payouts import settle_message
from redpacket.packets.model.claim import ShareRef
from redpacket.packets.model.packet import Opening, Packet, Rules
from redpacket.platform.idempotency import Request
from redpacket.platform.user import User
from testing.builders import a_claim, a_funding, a_packet, list_shares, some_terms
from testing.in_memory_system import InMemorySystem
from testing.platform.fake_tables import TABLE_NAMES
from testing.platform.users import HttpUser
from tests.handlers.conftest import Invoke, MakeUser

EVENTS = ROOT / "events"
SENDER = "event-sender"


class Desk:
    """Writer of the packets and claims that the events name; it uses the ledger's adapters."""

    def __init__(self, system: InMemorySystem, sender: HttpUser) -> None:
        self._system = system
        self._sender_id = sender.user_id

    def send(self, packet_id: str, count: int, age_ms: int = 0, **changes: Any) -> Packet:
        """Fund a packet, like a send that crashes before it loads the cache."""
        system = self._system
        packet = a_packet(
            packet_id=packet_id,
            sender=User(self._sender_id),
            terms=some_terms(total_fen=1000, count=count),
            created_at_ms=system.clock.now_ms() - age_ms,
            **changes,
        )
        request = Request(self._sender_id, packet_id, "hash")
        system.funding.fund(packet, a_funding(packet), request)
        return packet

    def claim(self, packet: Packet, share_no: int, user_id: str) -> int:
        """Record a claim, like a grab that crashes before it queues the payout."""
        at_ms = self._system.clock.now_ms()
        claim = a_claim(packet, share_no, user_id, decided_at_ms=at_ms)
        self._system.recorder.record_claim(claim)
        return claim.amount_fen


@pytest.fixture
def event_sender(a_user: MakeUser) -> HttpUser:
    return a_user(SENDER, funds_fen=5_000)


@pytest.fixture
def desk(system: InMemorySystem, event_sender: HttpUser) -> Desk:
    return Desk(system, event_sender)


def _id(name: str) -> str:
    """Sign *name* with the published key, as the packet ids in the events are."""
    return PUBLISHED_IDS.sign(name)


def _event(name: str) -> dict[str, Any]:
    event: dict[str, Any] = json.loads((EVENTS / f"{name}.json").read_text())
    return event


def _answer(result: dict[str, Any]) -> tuple[int, dict[str, Any]]:
    return result["statusCode"], json.loads(result["body"])


def test_send_sends_a_packet_once(event_sender: HttpUser, invoke: Invoke) -> None:
    status, packet = _answer(invoke("SendFunction", _event("send")))
    again = _answer(invoke("SendFunction", _event("send")))
    equal_status, equal = _answer(invoke("SendFunction", _event("send_equal")))

    assert (status, packet["kind"], packet["count"]) == (201, "lucky", 5)
    assert again == (status, packet)
    assert (equal_status, equal["kind"], equal["split"]) == (201, "equal", "equal")
    assert event_sender.grab(equal["packet_id"]).json()["amount_fen"] == 200
    assert event_sender.balance_fen() == 3_000
    assert event_sender.record(packet["packet_id"])["status"] == "open"


@pytest.mark.parametrize(
    ("change", "altered_count"),
    [
        ({"eventName": "MODIFY"}, 1),
        ({"eventName": "REMOVE"}, 1),
        ({"eventName": "INSERT"}, 0),
        # The table has no TTL, so a removal by the service is also tampering.
        ({"eventName": "REMOVE", "userIdentity": {"type": "Service"}}, 1),
    ],
)
def test_a_replaced_row_of_the_audit_log_is_set_aside_for_the_alarm(
    system: InMemorySystem,
    invoke: Invoke,
    monkeypatch: pytest.MonkeyPatch,
    change: dict[str, Any],
    altered_count: int,
) -> None:
    aside: list[Any] = []
    monkeypatch.setitem(vars(containers.events), "dead_letter", aside.append)
    source = f"arn:aws:dynamodb:r:1:table/{TABLE_NAMES.journal}/stream/2026-01-01"
    keys = {"pk": {"S": "journal"}, "sk": {"S": "0001767225600000#ab"}}
    record = {"eventSourceARN": source, "dynamodb": {"Keys": keys}, **change}

    told = invoke("AnnounceFunction", {"Records": [record]})

    assert told == {"altered_count": altered_count}
    assert aside == [record] * altered_count
    assert system.logger.events == ["row_altered"] * altered_count


_ASKED = {"pk": {"S": "approval#1"}, "asked": {"S": "{}"}}
_DECIDED = {**_ASKED, "status": {"S": "approved"}, "decided_by": {"S": "bob"}}
_REJECTED = {**_DECIDED, "status": {"S": "rejected"}}
_REFUSED = {**_REJECTED, "refusal": {"S": "insufficient_funds"}}


@pytest.mark.parametrize(
    ("before", "after", "is_altered"),
    [
        (_ASKED, _DECIDED, False),
        (_DECIDED, {**_DECIDED, "is_applied": {"BOOL": True}}, False),
        (_DECIDED, _REFUSED, False),
        (_REFUSED, {**_DECIDED, "is_applied": {"BOOL": True}}, False),
        (_ASKED, {**_ASKED, "asked": {"S": "other"}}, True),
        (_ASKED, {"pk": _ASKED["pk"]}, True),
        (_DECIDED, _ASKED, True),
        (_DECIDED, {**_DECIDED, "decided_by": {"S": "cat"}}, True),
        (_REJECTED, _DECIDED, True),
        (_DECIDED, None, True),
    ],
)
def test_an_altered_approval_is_set_aside_for_the_alarm_but_a_decision_is_not(
    system: InMemorySystem,
    invoke: Invoke,
    monkeypatch: pytest.MonkeyPatch,
    *,
    before: dict[str, Any],
    after: dict[str, Any] | None,
    is_altered: bool,
) -> None:
    aside: list[Any] = []
    monkeypatch.setitem(vars(containers.events), "dead_letter", aside.append)
    images = {"Keys": {"pk": before["pk"]}, "OldImage": before}
    images |= {"NewImage": after} if after else {}
    source = f"arn:aws:dynamodb:r:1:table/{TABLE_NAMES.approvals}/stream/2026-01-01"
    name = "MODIFY" if after else "REMOVE"
    record = {"eventSourceARN": source, "eventName": name, "dynamodb": images}

    told = invoke("AnnounceFunction", {"Records": [record]})

    assert told == {"altered_count": int(is_altered)}
    assert aside == [record] * is_altered
    assert system.logger.events == ["row_altered"] * is_altered


_CLAIMED = {
    "pk": {"S": "other#1"},
    "sk": {"S": "other"},
    "fate": {"S": "claimed"},
    "user_id": {"S": "bob"},
    "amount_fen": {"N": "5200"},
}


@pytest.mark.parametrize(
    ("before", "after", "is_altered"),
    [
        (None, _CLAIMED, False),
        (_CLAIMED, {**_CLAIMED, "settled_at_ms": {"N": "1"}}, False),
        ({**_CLAIMED, "fate": {"S": "refunded"}}, _CLAIMED, False),
        (_CLAIMED, {**_CLAIMED, "user_id": {"S": "alice"}}, True),
        (_CLAIMED, {**_CLAIMED, "amount_fen": {"N": "88"}}, True),
        (_CLAIMED, None, True),
    ],
)
def test_a_claim_with_a_changed_owner_and_a_removed_row_are_set_aside(
    system: InMemorySystem,
    invoke: Invoke,
    monkeypatch: pytest.MonkeyPatch,
    *,
    before: dict[str, Any] | None,
    after: dict[str, Any] | None,
    is_altered: bool,
) -> None:
    aside: list[Any] = []
    monkeypatch.setitem(vars(containers.events), "dead_letter", aside.append)
    monkeypatch.setitem(vars(containers.events), "announce_ports", None)
    named = (("OldImage", before), ("NewImage", after))
    images = {"Keys": {"pk": _CLAIMED["pk"], "sk": _CLAIMED["sk"]}}
    images |= {name: image for name, image in named if image}
    name = "REMOVE" if after is None else "MODIFY" if before else "INSERT"
    source = f"arn:aws:dynamodb:r:1:table/{TABLE_NAMES.shares}/stream/2026-01-01"
    record = {"eventSourceARN": source, "eventName": name, "dynamodb": images}

    invoke("AnnounceFunction", {"Records": [record]})

    assert aside == [record] * is_altered
    assert system.logger.events == ["row_altered"] * is_altered


def test_grab_claims_a_share_and_a_repeat_gets_the_same(
    system: InMemorySystem, desk: Desk, invoke: Invoke
) -> None:
    packet = desk.send(_id("event-win-000000000001"), count=2)
    desk.send(_id("event-repeat-000000001"), count=2)

    status, claim = _answer(invoke("GrabFunction", _event("grab_win")))
    _, first = _answer(invoke("GrabFunction", _event("grab_repeat")))
    again_status, again = _answer(invoke("GrabFunction", _event("grab_repeat")))

    assert (status, claim["outcome"]) == (200, "claimed")
    (share,) = list_shares(system.packets, packet.packet_id)
    assert (share.share_no, share.amount_fen) == (claim["share_no"], claim["amount_fen"])
    assert (again_status, again["outcome"]) == (200, "already_claimed")
    assert (again["share_no"], again["amount_fen"]) == (first["share_no"], first["amount_fen"])


def test_grab_of_an_emptied_or_expired_packet_gets_nothing(
    desk: Desk, invoke: Invoke, a_user: MakeUser
) -> None:
    packet = desk.send(_id("event-sold-out-0000001"), count=1)
    a_user().grab(packet.packet_id)
    # The builder's packets live for a minute.
    desk.send(_id("event-expired-00000001"), count=1, age_ms=61_000)

    sold_out = _answer(invoke("GrabFunction", _event("grab_sold_out")))
    expired = _answer(invoke("GrabFunction", _event("grab_expired")))

    assert (sold_out[0], sold_out[1]["code"]) == (410, "packet_emptied")
    assert (expired[0], expired[1]["code"]) == (410, "packet_expired")


def test_draw_wins_a_prize_once(system: InMemorySystem, operator: HttpUser, invoke: Invoke) -> None:
    now_ms = system.clock.now_ms()
    plan = {"title": "抽奖", "starts_at_ms": now_ms, "ends_at_ms": now_ms + 60_000, "status": "on"}
    prize = {"title": "手机", "kind": "goods", "weight": 1, "total": 1}
    path = "/admin/campaigns/event-lottery"
    assert operator.http.put(path, json=plan).is_success
    assert operator.http.put(f"{path}/prizes/phone", json=prize).is_success

    status, draw = _answer(invoke("LotteryFunction", _event("draw")))
    again = _answer(invoke("LotteryFunction", _event("draw")))

    assert (status, draw["outcome"], draw["prize"]["prize_id"]) == (200, "won", "phone")
    assert again == (status, draw)


def test_settle_batch_pays_two_claims_and_returns_the_invalid_message(
    desk: Desk, invoke: Invoke, a_user: MakeUser
) -> None:
    packet = desk.send(_id("event-settle-000000001"), count=3)
    claimers = [a_user(), a_user()]
    amounts_fen = [
        desk.claim(packet, share_no, claimer.user_id)
        for share_no, claimer in enumerate(claimers, 1)
    ]
    event = _event("settle_batch")

    answers = [invoke("PayoutFunction", event) for _ in range(2)]

    poison = event["Records"][1]["messageId"]
    assert answers == [{"batchItemFailures": [{"itemIdentifier": poison}]}] * 2
    assert [claimer.balance_fen() for claimer in claimers] == amounts_fen
    # The event's messages are equal to those that a grab queues.
    for share_no, record in enumerate((event["Records"][number] for number in (0, 2)), start=1):
        body = json.loads(record["body"])
        ref = ShareRef(_id("event-settle-000000001"), share_no)
        assert body == settle_message(ref, body["occurred_at_ms"])
        md5 = hashlib.md5(record["body"].encode(), usedforsecurity=False)
        assert record["md5OfBody"] == md5.hexdigest()


def test_sweep_refunds_due_packets(desk: Desk, invoke: Invoke, event_sender: HttpUser) -> None:
    packet = desk.send(_id("event-sweep-0000000001"), count=4, age_ms=121_000)

    # The packet was never loaded, and has expired. The first sweep only lists it as due, and counts
    # that as a load. The second sweep closes it.
    reports = [invoke("ExpireFunction", _event("sweep")) for _ in range(2)]

    assert reports[0]["loaded_count"] == 1
    assert reports[1]["closed_count"] == 1
    record = event_sender.record(packet.packet_id)
    assert (record["status"], record["refunded_fen"]) == ("closed", 1000)
    assert event_sender.balance_fen() == 5_000


def _refusal(result: dict[str, Any]) -> tuple[int, str]:
    status, problem = _answer(result)
    return status, problem["code"]


@pytest.mark.usefixtures("event_sender")
def test_refused_sends_have_the_documented_reasons(
    system: InMemorySystem, operator: HttpUser, invoke: Invoke
) -> None:
    def send(name: str) -> tuple[int, str]:
        return _refusal(invoke("SendFunction", _event(name)))

    assert invoke("SendFunction", _event("send"))["statusCode"] == 201
    assert send("send_no_key") == (400, "idempotency_key_missing")
    assert send("send_invalid") == (422, "invalid_request")
    assert send("send_key_reused") == (422, "idempotency_key_reused")
    assert send("send_split_impossible") == (422, "split_impossible")
    assert send("send_insufficient_funds") == (402, "insufficient_funds")
    assert send("send_channel_unavailable") == (422, "channel_unavailable")
    assert send("send_campaign") == (404, "campaign_not_found")

    plan = json.loads(_event("campaign_put")["body"])
    path, now_ms = "/admin/campaigns/event-campaign", system.clock.now_ms()
    plan |= {"starts_at_ms": now_ms - 2, "ends_at_ms": now_ms + 60_000, "status": "off"}
    assert operator.http.put(path, json=plan).is_success
    assert send("send_campaign") == (409, "campaign_paused")
    system.pass_time(60_000)
    assert send("send_campaign") == (409, "campaign_ended")

    assert operator.http.put("/admin/limits/sends_per_day", json={"value": 1}).is_success
    system.pass_time(10_000)
    assert send("send_rate_limited") == (429, "rate_limited")
    assert operator.http.put("/admin/switches/send", json={"on": False}).is_success
    system.pass_time(10_000)
    assert send("send_switched_off") == (503, "switched_off")


def test_grabs_work_in_two_steps_and_with_a_passphrase(
    system: InMemorySystem, desk: Desk, operator: HttpUser, invoke: Invoke
) -> None:
    desk.send(_id("event-twostep-00000001"), count=2, rules=Rules(opening=Opening.TWO_STEP))
    rules = Rules(passphrase="恭喜发财")
    desk.send(_id("event-phrase-000000001"), count=2, rules=rules)
    desk.send(_id("event-off-000000000001"), count=2)

    status, admitted = _answer(invoke("GrabFunction", _event("grab_two_step")))
    opened = _event("open") | {"body": json.dumps({"grab_token": admitted["grab_token"]})}
    open_status, claim = _answer(invoke("GrabFunction", opened))
    wrong = _refusal(invoke("GrabFunction", _event("grab_wrong_passphrase")))
    right_status, right = _answer(invoke("GrabFunction", _event("grab_passphrase")))
    assert operator.http.put("/admin/switches/grab", json={"on": False}).is_success
    system.pass_time(10_000)  # A change reaches every process within ten seconds.
    off = _refusal(invoke("GrabFunction", _event("grab_switched_off")))

    assert (status, admitted["outcome"]) == (200, "admitted")
    assert (open_status, claim["outcome"]) == (200, "claimed")
    assert _refusal(invoke("GrabFunction", _event("open")))[0] in {403, 503}
    assert wrong == (403, "passphrase_mismatch")
    assert (right_status, right["outcome"]) == (200, "claimed")
    assert off == (503, "switched_off")


def test_pages_show_a_packet_a_campaign_and_a_user(desk: Desk, invoke: Invoke) -> None:
    packet = desk.send(_id("event-win-000000000001"), count=2)
    edited = _answer(invoke("CampaignFunction", _event("campaign_put")))
    prize = _answer(invoke("PrizeFunction", _event("prize_put")))

    shown = {
        name: _answer(invoke(f"{function}Function", _event(name)))
        for function, name in (
            ("Records", "record"),
            ("Campaign", "campaign"),
            ("Profile", "profile"),
        )
    }

    assert {edited[0], prize[0], *(status for status, _ in shown.values())} == {200, 201}
    assert shown["record"][1]["packet_id"] == packet.packet_id
    assert shown["campaign"][1]["prizes"][0]["prize_id"] == "phone"
    assert shown["profile"][1]["balance_fen"] == 0


def test_operators_deposit_approve_and_erase(
    event_sender: HttpUser, a_user: MakeUser, invoke: Invoke
) -> None:
    before_fen = event_sender.balance_fen()
    answers = [invoke("AdminFunction", _event("deposit")) for _ in range(2)]
    approvals = _answer(invoke("ApprovalFunction", _event("approvals")))
    a_user("event-leaver")
    erased = _answer(invoke("ErasureFunction", _event("erase")))

    assert [_answer(each)[0] for each in answers] == [201, 201]
    assert event_sender.balance_fen() == before_fen + 1_000
    assert approvals == (200, {"items": [], "next": None})
    assert erased[0] == 202


def test_exactly_the_events_in_the_folder_are_described() -> None:
    described = [
        line.split("`")[1]
        for line in (EVENTS / "README.md").read_text().splitlines()
        if line.startswith("| `")
    ]

    assert sorted(described) == sorted(path.name for path in EVENTS.glob("*.json"))
