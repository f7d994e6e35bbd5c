"""Early ends of packets, over HTTP to the handlers in memory."""

from typing import Any

import httpx
import pytest

from redpacket.containers import containers
from redpacket.packets.use_cases.sharded_claims import ShardedClaims
from redpacket.platform.errors import CacheAway
from testing.in_memory_system import InMemorySystem
from testing.platform.users import HttpUser
from tests.handlers.conftest import Invoke, MakeUser

MINUTE_MS = 60_000
DAY_MS = 24 * 60 * MINUTE_MS


def _refused(answer: httpx.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["code"]


def _end(user: HttpUser, packet_id: str, reason: str = "") -> httpx.Response:
    if reason:
        return user.http.post(f"/admin/packets/{packet_id}/end", json={"reason": reason})
    return user.http.post(f"/packets/{packet_id}/end")


def _sent(user: HttpUser, **body: Any) -> str:
    answer = user.send(**{"kind": "equal", "total_fen": 500, "count": 5, **body})
    assert answer.status_code == 201, answer.text
    return str(answer.json()["packet_id"])


@pytest.fixture
def rain(system: InMemorySystem, operator: HttpUser, a_user: MakeUser) -> str:
    """Return the id of a campaign's packet."""
    now_ms = system.clock.now_ms()
    plan: dict[str, Any] = {"title": "Gala", "starts_at_ms": now_ms, "ends_at_ms": now_ms + DAY_MS}
    plan |= {"budget_fen": 1_000, "status": "on"}
    assert operator.http.put("/admin/campaigns/gala", json=plan).is_success
    till = a_user("till", funds_fen=1_000, scope="hongbao/operate")
    body = {"kind": "equal", "total_fen": 500, "count": 5, "campaign_id": "gala"}
    return str(till.post("/admin/packets", body).json()["packet_id"])


def test_an_ended_packet_keeps_claimed_shares_and_refunds_the_rest(
    system: InMemorySystem, sender: HttpUser, a_user: MakeUser, invoke: Invoke
) -> None:
    packet_id, claimer = _sent(sender), a_user()
    claimed, balance_fen = claimer.grab(packet_id).json(), sender.balance_fen()
    system.pass_time(1_000)
    now_ms = system.clock.now_ms()

    ended = _end(sender, packet_id)
    system.pass_time(1_000)
    late, again = a_user().grab(packet_id), claimer.grab(packet_id).json()
    system.settle()
    invoke("ExpireFunction", {"source": "aws.events"})

    assert ended.status_code == 202
    assert ended.json() == {"packet_id": packet_id, "expires_at_ms": now_ms, "status": "closing"}
    assert _refused(late) == (410, "packet_expired")
    assert again["share_no"] == claimed["share_no"]
    assert sender.balance_fen() == balance_fen + 400
    assert sender.record(packet_id)["status"] == "closed"
    assert _end(sender, packet_id).json() == {**ended.json(), "status": "closed"}


def test_strangers_and_users_of_a_campaign_packet_cannot_end_it(
    sender: HttpUser, a_user: MakeUser, rain: str
) -> None:
    packet_id, till = _sent(sender), a_user("till", scope="hongbao/operate")

    refused = [
        _end(a_user(), packet_id),
        _end(till, packet_id, "by mistake"),
        _end(till, rain),
        _end(sender, rain),
        _end(till, f"{packet_id[:-1]}{'A' if packet_id[-1] != 'A' else 'B'}", "by mistake"),
    ]

    assert [_refused(each) for each in refused] == [(404, "packet_not_found")] * 5
    assert a_user().grab(packet_id).is_success
    assert a_user().grab(rain).is_success


def test_operators_can_end_a_campaign_packet_and_admins_any_packet_and_the_audit_log_has_one_reason(
    system: InMemorySystem,
    sender: HttpUser,
    operator: HttpUser,
    a_user: MakeUser,
    rain: str,
    invoke: Invoke,
) -> None:
    packet_id, till = _sent(sender), a_user("till", scope="hongbao/operate")
    claimed, balance_fen = a_user().grab(rain), sender.balance_fen()

    ended = [_end(till, rain, "wrong amount"), _end(operator, packet_id, "the sender called")]
    system.pass_time(1_000)
    repeated = [_end(till, rain, "again"), _end(operator, packet_id, "again")]
    late = a_user().grab(rain)
    system.settle()
    invoke("ExpireFunction", {"source": "aws.events"})

    assert [each.status_code for each in ended] == [202, 202]
    assert [each.json() for each in repeated] == [each.json() for each in ended]
    assert claimed.is_success
    assert _refused(late) == (410, "packet_expired")
    assert sender.balance_fen() == balance_fen + 500
    assert till.balance_fen() == 900
    items = operator.http.get("/admin/journal").json()["items"]
    noted = {item["subject"]: item for item in items if item["action"] == "packet_ended"}
    assert len(noted) == 2
    reasons = {
        subject.partition(":")[0]: {each["field"]: each["after"] for each in item["changes"]}
        for subject, item in noted.items()
    }
    assert reasons["campaign"] == {"packet_id": rain, "reason": "wrong amount"}
    assert reasons["user"] == {"packet_id": packet_id, "reason": "the sender called"}


def test_an_end_by_an_operator_needs_a_reason(operator: HttpUser, rain: str) -> None:
    answer = operator.http.post(f"/admin/packets/{rain}/end", json={"reason": "  "})

    assert _refused(answer) == (422, "invalid_request")


def test_a_repeated_send_answers_as_before_the_early_end(
    system: InMemorySystem, sender: HttpUser, invoke: Invoke
) -> None:
    first = sender.send(key="mine").json()

    assert _end(sender, first["packet_id"]).status_code == 202
    again = sender.send(key="mine").json()
    invoke("ExpireFunction", {"source": "aws.events"})
    closed = sender.send(key="mine").json()

    assert again == closed == first
    assert sender.record(first["packet_id"])["expires_at_ms"] <= system.clock.now_ms()


def test_a_packet_that_the_cache_lacks_is_ended_at_once(
    system: InMemorySystem, sender: HttpUser, a_user: MakeUser
) -> None:
    packet_id, claimer = _sent(sender), a_user()
    claimed = claimer.grab(packet_id).json()
    system.memory.caches.clear()

    assert _end(sender, packet_id).status_code == 202

    assert _refused(a_user().grab(packet_id)) == (410, "packet_expired")
    assert claimer.grab(packet_id).json()["share_no"] == claimed["share_no"]


def test_a_load_that_began_before_the_end_does_not_open_the_packet(
    system: InMemorySystem, sender: HttpUser, a_user: MakeUser
) -> None:
    packet_id = _sent(sender)
    system.memory.caches.clear()
    read_before = system.packets.find_packet(packet_id)
    assert read_before

    assert _end(sender, packet_id).status_code == 202
    system.claim_cache.load(read_before, [], 0)

    assert _refused(a_user().grab(packet_id)) == (410, "packet_expired")


def test_a_load_during_the_end_does_not_open_the_packet(
    system: InMemorySystem, sender: HttpUser, a_user: MakeUser, monkeypatch: pytest.MonkeyPatch
) -> None:
    packet_id, late = _sent(sender), a_user()
    read_before, is_loaded = system.packets.find_packet(packet_id), ShardedClaims.is_loaded
    assert read_before

    def load_then(cache: ShardedClaims, packet_id: str, shard: int) -> bool:
        answer = is_loaded(cache, packet_id, shard)
        cache.load(read_before, [], shard)
        return answer

    system.memory.caches.clear()
    with monkeypatch.context() as patched:
        patched.setattr(ShardedClaims, "is_loaded", load_then)
        assert _end(sender, packet_id).status_code == 202

    assert _refused(late.grab(packet_id)) == (410, "packet_expired")


def test_a_claim_that_was_interrupted_is_not_recorded_after_an_early_end(
    system: InMemorySystem, sender: HttpUser, a_user: MakeUser, invoke: Invoke
) -> None:
    packet_id, claimer, before_fen = _sent(sender), a_user(), sender.balance_fen()
    system.claim_cache.grab(packet_id, claimer.user_id)

    assert _end(sender, packet_id).status_code == 202
    system.pass_time(20_000)
    refused = claimer.grab(packet_id)
    invoke("ExpireFunction", {"source": "aws.events"})

    assert _refused(refused) == (410, "packet_expired")
    assert sender.balance_fen() == before_fen + 500


def test_a_claim_during_the_end_is_recorded_or_refused_and_no_fen_is_lost(
    system: InMemorySystem, sender: HttpUser, a_user: MakeUser, invoke: Invoke
) -> None:
    packet_id, claimers = _sent(sender), [a_user() for _ in range(4)]
    before_fen = sender.balance_fen()
    ends = iter([None, None, sender])

    def end_at_the_third(_operations: object) -> None:
        # This runs just before a claim's transaction is committed.
        if (ender := next(ends, None)) is not None:
            assert _end(ender, packet_id).status_code == 202

    system.before_each_transaction(end_at_the_third)
    vars(containers.packets)["recorder"] = system.recorder
    answers = [claimer.grab(packet_id) for claimer in claimers]
    system.settle()
    invoke("ExpireFunction", {"source": "aws.events"})

    assert [each.status_code for each in answers] == [200, 200, 200, 410]
    assert sender.balance_fen() == before_fen + 200
    assert [claimer.balance_fen() for claimer in claimers] == [100, 100, 100, 0]


def test_two_concurrent_ends_give_the_same_answer_and_log_one_reason(
    system: InMemorySystem, operator: HttpUser, a_user: MakeUser, rain: str
) -> None:
    other, answers = a_user("other", scope="hongbao/admin"), list[httpx.Response]()

    def end_first(_operations: object) -> None:
        answers.append(_end(other, rain, "first"))
        system.pass_time(500)

    system.before_first_transaction(end_first)
    vars(containers.packets)["repository"] = system.packets
    vars(containers.packets).pop("send_ports")
    answers.append(_end(operator, rain, "second"))

    assert [each.status_code for each in answers] == [202, 202]
    assert answers[0].json() == answers[1].json()
    items = operator.http.get("/admin/journal").json()["items"]
    ended = [item for item in items if item["action"] == "packet_ended"]
    assert [item["changes"][1]["after"] for item in ended] == ["first"]


def test_a_packet_ends_before_its_start(
    system: InMemorySystem, sender: HttpUser, a_user: MakeUser, invoke: Invoke
) -> None:
    now_ms, before_fen = system.clock.now_ms(), sender.balance_fen()
    starts_at_ms = now_ms + 30 * DAY_MS
    packets = [_sent(sender, starts_at_ms=starts_at_ms) for _ in range(2)]
    system.memory.caches.pop(packets[1])

    ended = [_end(sender, packet_id).json()["expires_at_ms"] for packet_id in packets]
    refused = [a_user().grab(packet_id) for packet_id in packets]
    invoke("ExpireFunction", {"source": "aws.events"})
    system.pass_time(30 * DAY_MS + 1)
    refused += [a_user().grab(packet_id) for packet_id in packets]

    assert ended == [now_ms, now_ms]
    assert [_refused(each) for each in refused] == [(410, "packet_expired")] * 4
    assert sender.balance_fen() == before_fen
    assert [sender.record(packet_id)["status"] for packet_id in packets] == ["closed"] * 2


def test_a_packet_can_be_ended_while_the_cache_is_unavailable(
    sender: HttpUser,
    a_user: MakeUser,
    invoke: Invoke,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    packet_id, before_fen = _sent(sender), sender.balance_fen()

    def away(*_arguments: object) -> None:
        raise CacheAway("no answer")

    with monkeypatch.context() as patched:
        patched.setattr(ShardedClaims, "close", away)
        ended = _end(sender, packet_id)
    repeated = _end(sender, packet_id)
    late = a_user().grab(packet_id)
    invoke("ExpireFunction", {"source": "aws.events"})

    assert ended.status_code == 202
    assert repeated.json() == ended.json()
    assert _refused(late) == (410, "packet_expired")
    assert sender.balance_fen() == before_fen + 500


def test_the_end_of_an_ended_packet_is_its_actual_one(
    system: InMemorySystem, sender: HttpUser, a_user: MakeUser, invoke: Invoke
) -> None:
    emptied, expired = _sent(sender, count=1), _sent(sender, expires_in_s=60)
    a_user().grab(emptied)
    system.settle()
    ends_ms = [sender.record(packet_id)["expires_at_ms"] for packet_id in (emptied, expired)]
    system.pass_time(MINUTE_MS + 1)

    of_emptied, of_expired = _end(sender, emptied), _end(sender, expired)
    invoke("ExpireFunction", {"source": "aws.events"})

    assert [of_emptied.json()["expires_at_ms"], of_expired.json()["expires_at_ms"]] == ends_ms
    assert [of_emptied.json()["status"], of_expired.json()["status"]] == ["closed", "closing"]
    assert _end(sender, expired).json() == {**of_expired.json(), "status": "closed"}


def test_a_sharded_packet_ends_in_every_shard(
    system: InMemorySystem, a_user: MakeUser, operator: HttpUser, invoke: Invoke
) -> None:
    packet = system.send_in_shards(4, count=40)
    claimers = [a_user() for _ in range(6)]
    claimed = [claimer.grab(packet.packet_id).json() for claimer in claimers]
    system.memory.caches.pop(f"{packet.packet_id}.2")

    ended = _end(operator, packet.packet_id, "wrong campaign")
    late = [a_user().grab(packet.packet_id) for _ in range(12)]
    again = [claimer.grab(packet.packet_id).json() for claimer in claimers]
    system.settle()
    invoke("ExpireFunction", {"source": "aws.events"})

    assert ended.status_code == 202
    assert {_refused(each) for each in late} == {(410, "packet_expired")}
    assert [each["share_no"] for each in again] == [each["share_no"] for each in claimed]
    closed = system.packets.find_packet(packet.packet_id)
    assert closed
    assert closed.end
    assert closed.end.claimed_count == 6
