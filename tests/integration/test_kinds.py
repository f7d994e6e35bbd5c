"""Who may take a share, and how: in two steps, recipients only, for a passphrase; over HTTP."""

from __future__ import annotations

import time
from typing import Any

import httpx
import pytest

from tests.integration.conftest import MakeUser, User


def _sent(sender: User, **body: Any) -> str:
    answer = sender.send(**body)
    assert answer.status_code == httpx.codes.CREATED, answer.text
    return str(answer.json()["packet_id"])


def _refusal(answer: httpx.Response) -> tuple[int, str]:
    assert answer.headers["content-type"] == "application/problem+json", answer.text
    return answer.status_code, answer.json()["code"]


# ---------------------------------------------------------------- two steps


def test_grab_admits_and_open_takes_the_share(a_user: MakeUser) -> None:
    sender, taker = a_user(funds_fen=1000), a_user()
    packet_id = _sent(sender, opening="two_step", count=2)

    admitted = taker.grab(packet_id)
    opened = taker.open(packet_id, admitted.json()["grab_token"])

    assert admitted.status_code == httpx.codes.OK
    assert set(admitted.json()) == {"outcome", "grab_token", "expires_at_ms"}
    assert admitted.json()["outcome"] == "admitted"
    assert 0 < admitted.json()["expires_at_ms"] - time.time() * 1000 < 61_000
    assert opened.json()["outcome"] == "claimed"
    assert taker.open(packet_id, "whatever").json()["outcome"] == "already_claimed"
    assert taker.grab(packet_id).json()["amount_fen"] == opened.json()["amount_fen"]
    assert sender.record(packet_id)["opening"] == "two_step"


def test_a_packet_that_runs_empty_between_the_steps_says_so(a_user: MakeUser) -> None:
    sender, fast, slow = a_user(funds_fen=1000), a_user(), a_user()
    packet_id = _sent(sender, opening="two_step", count=1)
    tokens = [user.grab(packet_id).json()["grab_token"] for user in (fast, slow)]

    assert fast.open(packet_id, tokens[0]).json()["amount_fen"] == 1000
    assert _refusal(slow.open(packet_id, tokens[1])) == (410, "packet_emptied")
    assert _refusal(a_user().grab(packet_id)) == (410, "packet_emptied")


def test_no_more_are_admitted_than_the_factor_says(a_user: MakeUser) -> None:
    packet_id = _sent(a_user(funds_fen=1000), opening="two_step", count=1)
    admitted = [a_user().grab(packet_id) for _ in range(5)]  # AdmissionFactor

    crowded = a_user().grab(packet_id)

    assert [answer.json()["outcome"] for answer in admitted] == ["admitted"] * 5
    assert _refusal(crowded) == (429, "rate_limited")
    assert 1 <= int(crowded.headers["retry-after"]) <= 60


@pytest.mark.parametrize("body", [None, {}, {"grab_token": 5}, {"grab_token": "x", "more": 1}])
def test_an_open_of_another_form_is_refused(a_user: MakeUser, body: Any) -> None:
    packet_id = _sent(a_user(funds_fen=1000), opening="two_step")

    answer = a_user().http.post(f"/packets/{packet_id}/open", json=body)

    assert _refusal(answer) == (422, "invalid_request")


def test_a_token_is_for_one_user_and_one_packet(a_user: MakeUser) -> None:
    sender, taker, thief = a_user(funds_fen=3000), a_user(), a_user()
    first, second = (_sent(sender, opening="two_step") for _ in range(2))
    in_one_step = _sent(sender)
    token = taker.grab(first).json()["grab_token"]

    assert _refusal(thief.open(first, token)) == (403, "grab_token_invalid")
    assert _refusal(taker.open(second, token)) == (403, "grab_token_invalid")
    assert _refusal(taker.open(in_one_step, token)) == (403, "grab_token_invalid")
    assert _refusal(taker.open("A" * 22, token)) == (404, "packet_not_found")
    assert sender.record(first)["claimed_count"] == 0


# ---------------------------------------------------------------- recipients


def test_an_exclusive_packet_is_for_its_recipients(a_user: MakeUser) -> None:
    sender, invited, stranger = a_user(funds_fen=1000), a_user(), a_user()

    packet_id = _sent(sender, count=1, recipients=[invited.user_token()])

    assert _refusal(stranger.grab(packet_id)) == (403, "not_invited")
    assert invited.grab(packet_id).json()["amount_fen"] == 1000
    assert sender.record(packet_id)["is_exclusive"] is True


@pytest.mark.parametrize(
    ("recipients", "field"),
    [
        ([], "recipients"),
        (["guest-1"], "recipients.0"),
        (["A" * 40], "recipients.0"),
        ([1], "recipients.0"),
        ("A" * 40, "recipients"),
        (["A" * 40] * 101, "recipients"),
    ],
)
def test_recipients_that_are_nobodys_tokens_are_refused(
    a_user: MakeUser, recipients: Any, field: str
) -> None:
    sender = a_user(funds_fen=1000)

    answer = sender.send(recipients=recipients)

    assert _refusal(answer) == (422, "invalid_request")
    assert field in {error["field"] for error in answer.json()["errors"]}
    assert sender.balance_fen() == 1000


def test_a_token_that_was_tampered_with_is_nobodys(a_user: MakeUser) -> None:
    sender, invited = a_user(funds_fen=1000), a_user()
    token = invited.user_token()
    tampered = token[:-2] + ("AA" if token[-2:] != "AA" else "BB")

    assert _refusal(sender.send(recipients=[tampered])) == (422, "invalid_request")


# ---------------------------------------------------------------- passphrases


def test_a_user_who_says_the_passphrase_gets_a_share(a_user: MakeUser) -> None:
    sender, types, speaks, silent = a_user(funds_fen=1000), a_user(), a_user(), a_user()
    packet_id = _sent(sender, count=3, passphrase="恭喜发财")

    assert types.grab(packet_id, "恭喜发财！").json()["share_no"] == 1
    assert speaks.grab(packet_id, "恭禧发才").json()["share_no"] == 2
    assert _refusal(silent.grab(packet_id)) == (403, "passphrase_mismatch")
    assert _refusal(silent.grab(packet_id, "新年快乐")) == (403, "passphrase_mismatch")
    assert types.grab(packet_id).json()["outcome"] == "already_claimed"
    record = sender.record(packet_id)
    assert record["needs_passphrase"] is True
    assert "恭喜发财" not in str({**record, "greeting": ""})


def test_tries_at_a_passphrase_are_limited(a_user: MakeUser) -> None:
    sender, guesser = a_user(funds_fen=2000), a_user()
    packet_id, other = (_sent(sender, passphrase="芝麻开门") for _ in range(2))
    tries = [guesser.grab(packet_id, f"猜{number}") for number in range(5)]

    refused = guesser.grab(packet_id, "芝麻开门")

    assert {_refusal(answer) for answer in tries} == {(403, "passphrase_mismatch")}
    assert _refusal(refused) == (429, "rate_limited")
    assert 1 <= int(refused.headers["retry-after"]) <= 60
    assert guesser.grab(other, "芝麻开门").json()["outcome"] == "claimed"


@pytest.mark.parametrize(
    "body",
    [{"passphrase": ""}, {"passphrase": "！？"}, {"passphrase": "x" * 200}]
    + [
        {"passphrase": "芝麻", "passphrase_threshold": threshold}
        for threshold in (0, 101, "80", 1.5)
    ],
)
def test_a_passphrase_that_can_not_be_spoken_is_refused(
    a_user: MakeUser, body: dict[str, Any]
) -> None:
    assert _refusal(a_user(funds_fen=1000).send(**body)) == (422, "invalid_request")


@pytest.mark.parametrize("opening", ["one_step", "two_step"])
def test_an_exclusive_packet_is_not_there_for_strangers(a_user: MakeUser, opening: str) -> None:
    sender, invited, stranger = a_user(funds_fen=1000), a_user(), a_user()
    packet_id = _sent(sender, count=1, opening=opening, recipients=[invited.user_token()])
    claim = invited.grab(packet_id).json()
    if opening == "two_step":
        claim = invited.open(packet_id, claim["grab_token"]).json()
    assert claim["amount_fen"] == 1000

    for path in ("", "/feed", "/proof"):
        answer = stranger.http.get(f"/packets/{packet_id}{path}")
        assert _refusal(answer) == (404, "packet_not_found")
    for reader in (sender, invited):
        assert reader.record(packet_id)["claimed_count"] == 1
        assert reader.http.get(f"/packets/{packet_id}/proof").json()["amounts_fen"] == [1000]


def test_all_rules_together(a_user: MakeUser) -> None:
    sender, invited, stranger = a_user(funds_fen=1000), a_user(), a_user()
    packet_id = _sent(
        sender,
        count=1,
        opening="two_step",
        recipients=[invited.user_token()],
        passphrase="open sesame",
    )

    assert _refusal(stranger.grab(packet_id, "open sesame")) == (403, "not_invited")
    assert _refusal(invited.grab(packet_id, "close sesame!")) == (403, "passphrase_mismatch")
    token = invited.grab(packet_id, "Open, Sesame").json()["grab_token"]
    assert invited.open(packet_id, token).json()["amount_fen"] == 1000
