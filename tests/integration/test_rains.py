"""Rain for 200 concurrent players, against the deployed stack."""

import time
import uuid
from concurrent.futures import ThreadPoolExecutor

import httpx

from tests.integration.conftest import HttpUser, MakeUser

PLAYERS = 200
PACKETS = 3


def test_200_players_catch_every_packet_with_at_most_three_more_requests(a_user: MakeUser) -> None:
    sponsor = a_user("sponsor", funds_fen=100_000, scope="hongbao/admin")
    campaign_id, now_ms = f"storm-{uuid.uuid4().hex[:8]}", time.time_ns() // 1_000_000
    plan = {
        "title": "红包雨",
        "starts_at_ms": now_ms,
        "ends_at_ms": now_ms + 3_600_000,
        "budget_fen": 60_000,
        "quota_per_user": PACKETS,
        "status": "on",
    }
    assert sponsor.http.put(f"/admin/campaigns/{campaign_id}", json=plan).is_success
    players = [a_user(f"player{number}") for number in range(PLAYERS)]
    starts_at_ms = time.time_ns() // 1_000_000 + 8_000
    rain = {"starts_at_ms": starts_at_ms, "seconds": 120, "packets": PACKETS}
    body = {**rain, "total_fen": 60_000, "count": PLAYERS}
    planned = sponsor.post(f"/admin/campaigns/{campaign_id}/rains", body)
    assert planned.status_code == httpx.codes.CREATED, planned.text

    def look(player: HttpUser, path: str) -> httpx.Response:
        try:
            return player.http.get(path)
        except (httpx.ReadError, httpx.RemoteProtocolError):
            # The server may close an idle connection. Like a browser, retry the read on a new one.
            return player.http.get(path)

    def play(player: HttpUser) -> tuple[int, int]:
        """Play as the page does; return the number of caught shares and the number of requests."""
        path, requests = f"/campaigns/{campaign_id}", 1
        (round_,) = look(player, path).json()["rains"]
        if not round_["packets"]:
            time.sleep(max(0, (starts_at_ms - 2_000) / 1000 - time.time()))
            (round_,), requests = look(player, path).json()["rains"], requests + 1
        time.sleep(max(0, starts_at_ms / 1000 - time.time()))
        answers = [player.grab(packet_id) for packet_id in round_["packets"]]
        # The page reads the same path again for the podium.
        assert look(player, path).status_code == httpx.codes.OK
        caught = sum(answer.status_code == httpx.codes.OK for answer in answers)
        return caught, requests + len(answers) + 1

    with ThreadPoolExecutor(max_workers=PLAYERS) as pool:
        results = list(pool.map(play, players))

    assert [caught for caught, _ in results] == [PACKETS] * PLAYERS
    assert max(requests for _, requests in results) <= PACKETS + 3
