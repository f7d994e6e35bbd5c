"""All rules of a packet at once, over HTTP on the deployed template."""

import httpx

from tests.integration.conftest import MakeUser


def test_all_rules_together(a_user: MakeUser) -> None:
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
