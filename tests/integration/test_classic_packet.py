"""The classic packet from the route to the ledger and back, over HTTP on the deployed template."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import httpx

from tests.integration.conftest import Eventually, MakeUser, User


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


def test_all_rules_together(a_user: MakeUser) -> None:
    sender, invited, stranger = a_user(funds_fen=1000), a_user(), a_user()
    sent = sender.send(
        count=1,
        opening="two_step",
        recipients=[invited.user_token()],
        passphrase="open sesame",
    )
    packet_id = sent.json()["packet_id"]

    def code(answer: httpx.Response) -> str:
        return str(answer.json()["code"])

    assert code(stranger.grab(packet_id, "open sesame")) == "not_invited"
    assert code(invited.grab(packet_id, "close sesame!")) == "passphrase_mismatch"
    token = invited.grab(packet_id, "Open, Sesame").json()["grab_token"]
    assert code(stranger.open(packet_id, token)) == "grab_token_invalid"
    assert invited.open(packet_id, token).json()["amount_fen"] == 1000
