"""The classic packet from the route to the ledger and back, over HTTP on the deployed template."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import httpx

from tests.integration.conftest import Eventually, Invoke, MakeUser, User


def _is_settled(user: User, packet_id: str) -> bool:
    return all(claim["payout"] == "settled" for claim in user.record(packet_id)["claims"])


def test_thirty_users_race_for_ten_shares(a_user: MakeUser, eventually: Eventually) -> None:
    sender = a_user(funds_fen=10_000)
    takers = [a_user(nickname=f"Taker {number}") for number in range(30)]
    sent = sender.send(total_fen=10_000, count=10)
    packet_id = sent.json()["packet_id"]

    with ThreadPoolExecutor(max_workers=15) as pool:
        answers = list(pool.map(lambda taker: taker.grab(packet_id), takers))

    won = [answer.json() for answer in answers if answer.status_code == httpx.codes.OK]
    lost = [answer.json()["code"] for answer in answers if answer.status_code != httpx.codes.OK]
    assert sorted(claim["share_no"] for claim in won) == list(range(1, 11))
    assert sum(claim["amount_fen"] for claim in won) == 10_000
    assert lost == ["packet_emptied"] * 20
    eventually(lambda: _is_settled(sender, packet_id))
    assert sender.balance_fen() == 0
    assert sum(taker.balance_fen() for taker in takers) == 10_000
    record = sender.record(packet_id)
    assert record["status"] == "emptied"
    assert record["claimed_count"] == 10
    assert record["luckiest"]["amount_fen"] == max(claim["amount_fen"] for claim in won)


def test_leftovers_go_back(a_user: MakeUser, invoke: Invoke, eventually: Eventually) -> None:
    sender, taker, late = a_user(funds_fen=1000), a_user(), a_user()
    sent = sender.send(total_fen=1000, count=4, expires_in_s=2).json()
    claim = taker.grab(sent["packet_id"]).json()

    def is_closed() -> bool:
        invoke("ExpireFunction", {"source": "aws.events"})
        return bool(sender.record(sent["packet_id"])["status"] == "closed")

    eventually(is_closed)

    record = sender.record(sent["packet_id"])
    assert record["refunded_fen"] == 1000 - claim["amount_fen"]
    assert sender.balance_fen() == 1000 - claim["amount_fen"]
    assert taker.balance_fen() == claim["amount_fen"]
    assert late.grab(sent["packet_id"]).json()["code"] == "packet_expired"
    again = taker.grab(sent["packet_id"]).json()
    assert again["outcome"] == "already_claimed"
    assert again["amount_fen"] == claim["amount_fen"]
    assert again["payout"] == "settled"
