"""Packets over HTTP, from send to claim; tests/unit tests the rules of each step."""

from typing import Any

import httpx
import pytest

from testing.in_memory_system import InMemorySystem
from testing.platform.users import HttpUser
from tests.handlers.conftest import MakeUser

ORDER: dict[str, Any] = {"kind": "lucky", "total_fen": 1000, "count": 5}


def _sent(sender: HttpUser, **body: Any) -> str:
    answer = sender.send(**body)
    assert answer.status_code == httpx.codes.CREATED, answer.text
    return str(answer.json()["packet_id"])


def _refusal(answer: httpx.Response) -> tuple[int, str]:
    assert answer.headers["content-type"] == "application/problem+json", answer.text
    return answer.status_code, answer.json()["code"]


# ---------------------------------------------------------------- idempotency


def test_a_repeated_send_gets_the_same_answer_regardless_of_the_body_format(
    sender: HttpUser,
) -> None:
    first = sender.send(key="k", greeting="恭喜")
    escaped = b'{ "greeting": "\\u606d\\u559c",\n "count": 5, "total_fen": 1000, "kind": "lucky" }'

    again = sender.send(key="k", greeting="恭喜")
    other_way = sender.http.post("/packets", content=escaped, headers={"Idempotency-Key": "k"})

    assert (first.status_code, again.status_code) == (201, 201)
    assert first.json() == again.json() == other_way.json()
    assert _refusal(sender.send(key="k", count=4)) == (422, "idempotency_key_reused")
    assert sender.balance_fen() == 999_000


@pytest.mark.parametrize("charset", ["utf-8", '"UTF-8"', "utf8 ; q=1", "US-ASCII"])
def test_a_body_in_utf_8_is_accepted(sender: HttpUser, charset: str) -> None:
    headers = {"Idempotency-Key": charset, "Content-Type": f"application/json;charset={charset}"}
    assert sender.http.post("/packets", json=ORDER, headers=headers).status_code == 201


def test_idempotency_keys_are_scoped_to_the_user_and_the_route(
    a_user: MakeUser, sender: HttpUser
) -> None:
    other = a_user(funds_fen=1000, scope="hongbao/admin")
    ids = {sender.send(key=key).json()["packet_id"] for key in ("k", "K", "k2", "k" * 255)}

    theirs = other.send(key="k").json()["packet_id"]
    deposit = {"user": sender.host_id, "amount_fen": 5}
    first, again = (other.post("/admin/deposits", deposit, key="k") for _ in range(2))

    assert len({*ids, theirs}) == 5
    assert (first.status_code, again.json()) == (201, first.json())
    for changes in ({"amount_fen": 6}, {"user": "somebody"}):
        refused = other.post("/admin/deposits", {**deposit, **changes}, key="k")
        assert _refusal(refused) == (422, "idempotency_key_reused")
    assert (sender.balance_fen(), other.balance_fen()) == (996_005, 0)


def test_a_refused_order_does_not_use_up_its_key(a_user: MakeUser, operator: HttpUser) -> None:
    user = a_user()
    assert _refusal(user.send(key="k")) == (402, "insufficient_funds")
    operator.post("/admin/deposits", {"user": user.host_id, "amount_fen": 1000})

    assert user.send(key="k").status_code == httpx.codes.CREATED
    assert user.balance_fen() == 0


# ---------------------------------------------------------------- accepted bodies


@pytest.mark.parametrize(
    "text",
    [
        "恭" * 50,
        "👍" * 50,
        "👍🏽" * 50,
        "🇨🇳" * 50,
        "e\u0301\u0323" * 50,
        "👨\u200d👩\u200d👧" * 50,
        "",
    ],
)
def test_a_greeting_of_fifty_graphemes_is_not_refused(sender: HttpUser, text: str) -> None:
    sent = sender.send(greeting=text)

    assert sent.status_code == httpx.codes.CREATED, sent.text
    assert len(sent.json()["greeting"]) <= len(text)


@pytest.mark.parametrize("body", ["", "{}", '{"passphrase": "芝麻开门"}', '{"passphrase": null}'])
def test_a_passphrase_for_a_packet_without_one_is_ignored(
    sender: HttpUser, a_user: MakeUser, body: str
) -> None:
    packet_id = _sent(sender)

    answer = a_user().http.post(f"/packets/{packet_id}/grab", content=body.encode())

    assert answer.status_code == httpx.codes.OK, answer.text


# ---------------------------------------------------------------- rules for claims


def test_a_two_step_packet_is_grabbed_and_opened(a_user: MakeUser, sender: HttpUser) -> None:
    claimer, slow, thief = a_user(), a_user(), a_user()
    packet_id, other = (_sent(sender, opening="two_step", count=1) for _ in range(2))

    admitted, of_slow = (user.grab(packet_id).json() for user in (claimer, slow))
    for user, path, token in (
        (thief, packet_id, admitted["grab_token"]),
        (claimer, other, admitted["grab_token"]),
        (claimer, _sent(sender), admitted["grab_token"]),
    ):
        assert _refusal(user.open(path, token)) == (403, "grab_token_invalid")
    opened = claimer.open(packet_id, admitted["grab_token"])

    assert set(admitted) == {"outcome", "grab_token", "expires_at_ms"}
    assert (admitted["outcome"], opened.json()["outcome"]) == ("admitted", "claimed")
    assert claimer.open(packet_id, "whatever").json()["outcome"] == "already_claimed"
    assert claimer.grab(packet_id).json()["amount_fen"] == opened.json()["amount_fen"]
    assert _refusal(slow.open(packet_id, of_slow["grab_token"])) == (410, "packet_emptied")
    assert sender.record(packet_id)["opening"] == "two_step"


def test_a_user_who_arrives_when_all_places_are_taken_must_retry(
    a_user: MakeUser, sender: HttpUser
) -> None:
    packet_id = _sent(sender, opening="two_step", count=1)
    admitted = [a_user().grab(packet_id) for _ in range(2)]  # ADMISSION_FACTOR

    crowded = a_user().grab(packet_id)

    assert [answer.json()["outcome"] for answer in admitted] == ["admitted"] * 2
    assert _refusal(crowded) == (429, "rate_limited")
    assert 1 <= int(crowded.headers["retry-after"]) <= 60


@pytest.mark.parametrize("opening", ["one_step", "two_step"])
def test_strangers_do_not_find_an_exclusive_packet(
    a_user: MakeUser, sender: HttpUser, opening: str
) -> None:
    invited, stranger = a_user(), a_user()
    token = invited.user_token()
    tampered = token[:-2] + ("AA" if token[-2:] != "AA" else "BB")
    assert _refusal(sender.send(recipients=[tampered])) == (422, "invalid_request")
    packet_id = _sent(sender, count=1, opening=opening, recipients=[token])
    assert _refusal(stranger.grab(packet_id)) == (403, "not_invited")
    claim = invited.grab(packet_id).json()
    if opening == "two_step":
        claim = invited.open(packet_id, claim["grab_token"]).json()
    assert claim["amount_fen"] == 1000

    for path in ("", "/feed", "/proof"):
        answer = stranger.http.get(f"/packets/{packet_id}{path}")
        assert _refusal(answer) == (404, "packet_not_found")
    for reader in (sender, invited):
        assert reader.record(packet_id)["is_exclusive"] is True
        assert reader.http.get(f"/packets/{packet_id}/proof").json()["amounts_fen"] == [1000]


def test_a_passphrase_is_checked_and_never_shown(a_user: MakeUser, sender: HttpUser) -> None:
    types, speaks, guesser = a_user(), a_user(), a_user()
    packet_id = _sent(sender, count=3, passphrase="恭喜发财")

    assert types.grab(packet_id, "恭喜发财！").json()["share_no"] == 1
    assert speaks.grab(packet_id, "恭禧发才").json()["share_no"] == 2
    assert types.grab(packet_id).json()["outcome"] == "already_claimed"
    tries = [guesser.grab(packet_id, phrase) for phrase in (None, "a", "b", "c", "d", "e")]
    refused = guesser.grab(packet_id, "恭喜发财")

    assert {_refusal(answer) for answer in tries} == {(403, "passphrase_mismatch")}
    assert _refusal(refused) == (429, "rate_limited")
    assert 1 <= int(refused.headers["retry-after"]) <= 60
    record = sender.record(packet_id)
    assert record["needs_passphrase"] is True
    assert "恭喜发财" not in str({**record, "greeting": ""})


def test_a_sender_who_is_too_fast_gets_a_retry_delay(sender: HttpUser) -> None:
    # Requests are counted before they are parsed, so invalid bodies suffice and cost no money.
    answers = [sender.post("/packets", {}) for _ in range(310)]

    refused = [answer for answer in answers if answer.status_code == 429]
    assert {answer.status_code for answer in answers} == {422, 429}
    assert {_refusal(answer) for answer in refused} == {(429, "rate_limited")}
    assert {int(answer.headers["retry-after"]) for answer in refused} == {1}


# ---------------------------------------------------------------- limits


def test_limits_are_shown_with_their_bounds_and_apply_within_ten_seconds(
    system: InMemorySystem, operator: HttpUser, sender: HttpUser
) -> None:
    def put(name: str, value: Any) -> httpx.Response:
        return operator.http.put(f"/admin/limits/{name}", json={"value": value})

    first = put("sends_per_day", 1).json()
    shown = operator.http.get("/admin/limits").json()["items"]
    system.pass_time(10_000)
    answers = [sender.send() for _ in range(2)]

    assert first == {
        "name": "sends_per_day",
        "value": 1,
        "default": 1000,
        "lowest": 1,
        "highest": 1_000_000,
    }
    assert first in shown
    assert len(shown) == 5
    assert answers[0].is_success
    assert _refusal(answers[1]) == (429, "rate_limited")
    assert put("sends_per_day", None).json()["value"] == 1000
    refused = put("sends_per_day", 0)
    assert _refusal(refused) == (422, "invalid_request")
    message = "sends_per_day must be from 1 to 1000000"
    assert refused.json()["errors"] == [{"field": "value", "message": message}]
    assert _refusal(put("everything", 1)) == (422, "invalid_request")
    assert _refusal(put("sends_per_day", "1")) == (422, "invalid_request")
    assert _refusal(sender.http.get("/admin/limits")) == (403, "forbidden")


def test_operators_see_refusals_by_code_and_the_funnel(
    system: InMemorySystem, operator: HttpUser, sender: HttpUser
) -> None:
    system.outcomes.counts = {"rate_limited": 2, "won": 5, "packet_emptied": 7}

    assert operator.http.get("/admin/refusals?hours=24").json() == {
        "hours": 24,
        "funnel": {"visited": 0, "tried": 0, "won": 5, "credited": 0, "withdrawn": 0},
        "items": [
            {"code": "packet_emptied", "count": 7},
            {"code": "rate_limited", "count": 2},
        ],
    }
    assert operator.http.get("/admin/refusals").json()["hours"] == 1
    assert _refusal(operator.http.get("/admin/refusals?hours=25")) == (422, "invalid_request")
    assert _refusal(sender.http.get("/admin/refusals")) == (403, "forbidden")


def test_each_stage_of_the_funnel_is_counted_once(
    system: InMemorySystem, a_user: MakeUser, sender: HttpUser
) -> None:
    packet_id, claimer = sender.send().json()["packet_id"], a_user()
    for query in ("", "?limit=1"):  # The first read is a visit; the second is a poll.
        assert claimer.http.get(f"/packets/{packet_id}{query}").is_success
    for _ in range(2):
        assert claimer.grab(packet_id).is_success
    system.settle()

    assert system.logger.counts == {"visited": 1, "tried": 2, "won": 1, "credited": 1}


# ---------------------------------------------------------------- switches


def test_switches_are_shown_with_time_reason_and_operator_and_take_effect(
    system: InMemorySystem, operator: HttpUser, sender: HttpUser
) -> None:
    def turn(*, is_on: bool) -> Any:
        body = {"on": is_on, "reason": "" if is_on else "维护"}
        return operator.http.put("/admin/switches/send", json=body).json()

    first, again = turn(is_on=False), turn(is_on=False)
    shown = {item["name"]: item for item in operator.http.get("/admin/switches").json()["items"]}
    system.pass_time(10_000)
    off = sender.send()

    assert list(shown) == ["send", "grab", "payout", "refund", "draw", "pay", "withdraw"]
    assert first == again == shown["send"]
    assert (shown["send"]["on"], shown["send"]["reason"]) == (False, "维护")
    assert all(item.keys() == shown["send"].keys() for item in shown.values())
    assert _refusal(off) == (503, "switched_off")
    assert off.headers["retry-after"] == "10"
    assert turn(is_on=True)["on"] is True


# ---------------------------------------------------------------- sharers of links


@pytest.mark.parametrize("opening", ["one_step", "two_step"])
def test_a_claim_keeps_the_sharer_of_its_link_and_a_repeat_changes_nothing(
    sender: HttpUser, a_user: MakeUser, operator: HttpUser, opening: str
) -> None:
    packet_id = _sent(sender, opening=opening)
    ann, bob, cat, dan = (a_user() for _ in range(4))

    def take(user: HttpUser, via: object) -> None:
        """Claim a share as a user who followed the link shared by *via*."""
        grabbed = user.http.post(f"/packets/{packet_id}/grab", json={"via": via})
        assert grabbed.is_success, grabbed.text
        if token := grabbed.json().get("grab_token"):
            body = {"grab_token": token, "via": via}
            assert user.http.post(f"/packets/{packet_id}/open", json=body).is_success

    take(ann, sender.user_token())
    take(ann, bob.user_token())
    take(bob, ann.user_token())
    take(cat, cat.user_token())
    take(cat, ann.user_token())
    take(dan, ann.user_token())
    take(a_user(), ann.user_id[:-1] + "-")
    path = f"/admin/packets/{packet_id}"
    listed = operator.http.get(f"{path}/claims").json()["items"]
    counted = operator.http.get(f"{path}/sharers").json()
    csv = operator.http.get(f"{path}/sharers", headers={"Accept": "text/csv"}).text

    claims = {row["user_token"]: row["via"] for row in listed}
    by_ann, by_sender = ann.user_id, sender.user_id
    assert list(claims.values()).count(None) == 2
    assert [claims[user.user_id] for user in (ann, bob, cat, dan)] == [
        *(by_sender, by_ann),
        *(None, by_ann),
    ]
    counts = [(row["user_token"], row["claim_count"]) for row in counted["items"]]
    assert (counts, counted["next"]) == ([(by_ann, 2), (by_sender, 1)], None)
    assert csv.splitlines()[2] == f'"{sender.host_id}","{by_sender}","",1'


def test_invented_sharers_are_ignored(sender: HttpUser, a_user: MakeUser) -> None:
    packet_id = _sent(sender)

    for via in ("", "x", "ü" * 24, "A" * 24, "A" * 4000, None):
        answer = a_user().http.post(f"/packets/{packet_id}/grab", json={"via": via})
        assert answer.status_code in {200, 410}, answer.text
