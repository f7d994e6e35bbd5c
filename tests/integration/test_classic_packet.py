"""Packets with several rules, or with a start and an end, over HTTP against the deployed stack."""

import time

import httpx

from tests.integration.conftest import Eventually, Invoke, MakeUser


def test_all_rules_work_together(a_user: MakeUser) -> None:
    sender, invited, stranger = a_user(funds_fen=1000), a_user(), a_user()
    sent = sender.send(
        count=1, opening="two_step", recipients=[invited.user_token()], passphrase="open sesame"
    )
    packet_id = sent.json()["packet_id"]

    def code(answer: httpx.Response) -> str:
        return str(answer.json()["code"])

    assert code(stranger.grab(packet_id, "open sesame")) == "not_invited"
    assert code(invited.grab(packet_id, "close sesame!")) == "passphrase_mismatch"
    token = invited.grab(packet_id, "Open, Sesame").json()["grab_token"]
    assert code(stranger.open(packet_id, token)) == "grab_token_invalid"
    assert invited.open(packet_id, token).json()["amount_fen"] == 1000


def test_a_packet_opens_at_its_start_and_the_rest_is_refunded_at_its_end(
    a_user: MakeUser, invoke: Invoke, eventually: Eventually
) -> None:
    sender, claimer = a_user(funds_fen=1000), a_user()
    starts_at_ms = time.time_ns() // 1_000_000 + 5_000
    sent = sender.send(kind="equal", count=2, starts_at_ms=starts_at_ms, expires_in_s=5)
    packet_id = sent.json()["packet_id"]

    before = claimer.grab(packet_id)
    eventually(lambda: claimer.grab(packet_id).status_code == 200)
    eventually(lambda: time.time_ns() // 1_000_000 > starts_at_ms + 5_000)
    invoke("ExpireFunction", {"source": "aws.events"})

    assert (before.status_code, before.json()["code"]) == (409, "packet_not_started")
    eventually(lambda: sender.balance_fen() == 500)
    eventually(lambda: claimer.balance_fen() == 500)
