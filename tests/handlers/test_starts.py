"""Start times chosen by the sender, over HTTP to the handlers in memory."""

from typing import Any

import httpx

from testing.in_memory_system import InMemorySystem
from testing.platform.users import HttpUser
from tests.handlers.conftest import Invoke, MakeUser

MINUTE_MS = 60_000
DAY_MS = 24 * 60 * MINUTE_MS


def _refused(answer: httpx.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["code"]


def test_a_packet_opens_at_its_start_and_lives_from_then(
    system: InMemorySystem, sender: HttpUser, a_user: MakeUser, invoke: Invoke
) -> None:
    claimer, starts_at_ms = a_user(), system.clock.now_ms() + 30 * DAY_MS
    sent = sender.send(starts_at_ms=starts_at_ms, expires_in_s=60)
    packet_id = sent.json()["packet_id"]

    before = claimer.grab(packet_id)
    system.pass_time(29 * DAY_MS)
    invoke("ExpireFunction", {"source": "aws.events"})
    a_day_before = claimer.grab(packet_id)
    system.pass_time(DAY_MS)
    open_ = claimer.grab(packet_id)

    assert sent.status_code == 201
    record = sender.record(packet_id)
    assert (record["starts_at_ms"], record["expires_at_ms"]) == (
        starts_at_ms,
        starts_at_ms + MINUTE_MS,
    )
    assert [_refused(each) for each in (before, a_day_before)] == [(409, "packet_not_started")] * 2
    assert open_.json()["outcome"] == "claimed"


def test_a_start_is_at_most_30_days_ahead_and_a_past_one_is_now(
    system: InMemorySystem, sender: HttpUser, a_user: MakeUser
) -> None:
    now_ms = system.clock.now_ms()

    late = sender.send(starts_at_ms=now_ms + 30 * DAY_MS + MINUTE_MS)
    past = sender.send(starts_at_ms=now_ms - DAY_MS, expires_in_s=60).json()

    assert _refused(late) == (422, "invalid_request")
    assert late.json()["errors"][0]["field"] == "starts_at_ms"
    assert sender.record(past["packet_id"])["starts_at_ms"] >= now_ms
    assert a_user().grab(past["packet_id"]).json()["outcome"] == "claimed"


def test_a_campaign_packet_is_open_only_in_its_own_window_and_in_that_of_its_campaign(
    system: InMemorySystem, operator: HttpUser, a_user: MakeUser
) -> None:
    now_ms = system.clock.now_ms()
    plan: dict[str, Any] = {"title": "Gala", "starts_at_ms": now_ms, "ends_at_ms": now_ms + DAY_MS}
    plan |= {"budget_fen": 1_000, "status": "on"}
    assert operator.http.put("/admin/campaigns/gala", json=plan).is_success
    a_user("till", funds_fen=1_000)
    till = a_user("till", scope="hongbao/operate")
    body = {"kind": "equal", "total_fen": 100, "count": 1, "campaign_id": "gala"}

    sent = till.post("/packets", body | {"starts_at_ms": now_ms + 10 * MINUTE_MS}).json()
    after = till.post("/packets", body | {"starts_at_ms": now_ms + DAY_MS})
    before = a_user().grab(sent["packet_id"])
    system.pass_time(11 * MINUTE_MS)
    open_ = a_user().grab(sent["packet_id"])

    assert _refused(after) == (422, "invalid_request")
    assert _refused(before) == (409, "packet_not_started")
    assert open_.json()["outcome"] == "claimed"
