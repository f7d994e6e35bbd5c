"""Reads and writes that are denied to strangers; tests/integration covers all routes."""

from typing import Any

from testing.in_memory_system import InMemorySystem
from testing.platform.users import HttpUser
from tests.handlers.conftest import MakeUser

NAMES = ("sender", "sender_id", "user", "user_id", "sub", "account", "taker", "draw_id", "prize_id")


def test_a_stranger_reads_only_the_public_part_of_a_packet(
    system: InMemorySystem, sender: HttpUser, a_user: MakeUser
) -> None:
    stranger = a_user()
    packet_id = sender.send(count=2).json()["packet_id"]
    claim = sender.grab(packet_id).json()
    system.settle()
    pretending = f"?user={sender.host_id}&sub={sender.host_id}&user_id={sender.host_id}"
    headers = {"X-User": sender.host_id, "X-User-Id": sender.host_id, "X-Forwarded-User": "root"}

    for path in ("/me", "/me/sent", "/me/received", "/me/transfers"):
        own, hers = stranger.http.get(path), sender.http.get(path)
        assert stranger.http.get(path + pretending, headers=headers).text == own.text
        assert own.text != hers.text
    cursor = sender.http.get("/me/transfers?limit=1").json()["next"]
    leafed = stranger.http.get("/me/transfers", params={"cursor": cursor}).json()
    assert leafed == {"items": [], "next": None}
    assert stranger.record(packet_id)["mine"] is None
    assert sender.record(packet_id)["mine"]["share_no"] == claim["share_no"]


def test_a_stranger_cannot_act_for_another_user(
    system: InMemorySystem, sender: HttpUser, operator: HttpUser, a_user: MakeUser
) -> None:
    stranger = a_user(funds_fen=100)
    now_ms = system.clock.now_ms()
    plan = {"title": "own", "starts_at_ms": now_ms, "ends_at_ms": now_ms + 60_000, "status": "on"}
    assert operator.http.put("/admin/campaigns/own", json=plan).is_success
    packet_id = sender.send().json()["packet_id"]
    order: dict[str, Any] = {"kind": "lucky", "total_fen": 100, "count": 2}

    for name in NAMES:
        answers = [
            stranger.post("/packets", {**order, name: sender.host_id}),
            stranger.post(f"/packets/{packet_id}/grab", {name: sender.host_id}),
            stranger.post("/campaigns/own/draws", {name: sender.host_id}),
            stranger.http.put("/me/profile", json={"nickname": "x", name: sender.host_id}),
        ]
        assert {answer.json()["code"] for answer in answers} == {"invalid_request"}
    assert stranger.send().json()["code"] == "insufficient_funds"
    assert (sender.balance_fen(), stranger.balance_fen()) == (999_000, 100)

    # Idempotency keys are scoped to the user.
    first, second = (user.draw("own", "the same key").json() for user in (sender, stranger))
    assert first["draw_id"] != second["draw_id"]
    for query in ("", f"?user={sender.host_id}", f"?cursor={first['draw_id']}"):
        mine = stranger.http.get(f"/campaigns/own/draws{query}").json()["items"]
        assert [item["draw_id"] for item in mine] == [second["draw_id"]]
