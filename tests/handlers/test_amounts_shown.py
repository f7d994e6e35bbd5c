"""Amounts that stay hidden until a packet's end, and packet covers, over HTTP."""

import re
from typing import Any

import httpx

from testing.in_memory_system import InMemorySystem
from testing.platform.users import HttpUser
from tests.handlers.conftest import MakeUser

COVER = "https://images.example/spring.webp"


def _feed(user: HttpUser, packet_id: str) -> httpx.Response:
    return user.http.get(f"/packets/{packet_id}/feed")


def test_hidden_amounts_are_in_no_answer_until_the_end(
    system: InMemorySystem, a_user: MakeUser
) -> None:
    sender, first, second, reader = a_user(funds_fen=30_011), a_user(), a_user(), a_user()
    packet = sender.send(total_fen=30_011, count=2, amounts_shown="end").json()
    packet_id = packet["packet_id"]
    claim = first.grab(packet_id).json()
    system.settle()
    path = f"/packets/{packet_id}"
    last_fen = packet["total_fen"] - claim["amount_fen"]

    theirs = [
        _feed(reader, packet_id).text,
        *(user.http.get(path).text for user in (sender, second, reader)),
        *(sender.http.get(f"/me/{book}").text for book in ("sent", "received", "transfers")),
        reader.http.get(f"{path}/proof").text,
    ]
    mine = first.record(packet_id)

    assert (packet["amounts_shown"], first.balance_fen()) == ("end", claim["amount_fen"])
    for text in theirs:
        numbers = re.findall(r"\d+", text)
        assert not {str(claim["amount_fen"]), str(last_fen)} & set(numbers)
    assert mine["mine"]["amount_fen"] == mine["claims"][0]["amount_fen"] == claim["amount_fen"]
    assert (mine["claimed_fen"], mine["luckiest"], mine["claimed_count"]) == (None, None, 1)
    assert first.http.get("/me/received").json()["luckiest_count"] == 0

    # After the last claim, the feed shows all amounts and has a new ETag.
    tag = _feed(reader, packet_id).headers["etag"]
    assert second.grab(packet_id).json()["amount_fen"] == last_fen
    ended = _feed(reader, packet_id)
    assert ended.headers["etag"] != tag
    shown = ended.json()
    assert [each["amount_fen"] for each in shown["claims"]] == [claim["amount_fen"], last_fen]
    assert shown["claimed_fen"] == packet["total_fen"]
    assert [each["is_luckiest"] for each in shown["claims"]].count(True) == 1
    best_fen = max(claim["amount_fen"], last_fen)
    assert reader.record(packet_id)["luckiest"]["amount_fen"] == best_fen


def test_a_campaign_hides_amounts_by_default_and_a_packet_can_override_it(
    system: InMemorySystem, a_user: MakeUser
) -> None:
    sponsor, claimer = a_user("sponsor", funds_fen=3_000, scope="hongbao/admin"), a_user()
    now_ms = system.clock.now_ms()
    plan = {"title": "红包雨", "starts_at_ms": now_ms, "ends_at_ms": now_ms + 3_600_000}
    for campaign_id, changes in (("hidden", {}), ("live", {"amounts_shown": "live"})):
        body = {**plan, "budget_fen": 2_000, "status": "on", **changes}
        assert sponsor.http.put(f"/admin/campaigns/{campaign_id}", json=body).is_success
    order: dict[str, Any] = {"total_fen": 1_000, "count": 2}
    packets = [
        sponsor.send(campaign_id="hidden", **order).json(),
        sponsor.send(campaign_id="hidden", amounts_shown="live", **order).json(),
        sponsor.send(campaign_id="live", **order).json(),
    ]
    for packet in packets:
        claimer.grab(packet["packet_id"])

    feeds = [_feed(claimer, packet["packet_id"]).json() for packet in packets]

    assert [packet["amounts_shown"] for packet in packets] == ["end", "live", "live"]
    assert [feed["claims"][0]["amount_fen"] is None for feed in feeds] == [True, False, False]
    assert [feed["claimed_fen"] is None for feed in feeds] == [True, False, False]
    assert a_user().http.get("/campaigns/hidden").json()["amounts_shown"] == "end"


def test_all_users_see_the_cover_of_a_packet(sender: HttpUser, a_user: MakeUser) -> None:
    packet_id = sender.send(cover_url=COVER).json()["packet_id"]

    assert _feed(sender, packet_id).json()["cover_url"] == COVER
    assert a_user().record(packet_id)["cover_url"] == COVER
    assert a_user().record(sender.send().json()["packet_id"])["cover_url"] is None
