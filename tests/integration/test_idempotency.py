"""The same request under the same key moves money once, however often and fast it comes."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from tests.integration.conftest import Eventually, MakeUser, User

REPEATS = 20


def _race(ask: Callable[[], httpx.Response]) -> list[httpx.Response]:
    """Ask 20 times at once; those who are told to retry do so, until all have it."""
    with ThreadPoolExecutor(max_workers=REPEATS) as pool:
        answers = list(pool.map(lambda _: ask(), range(REPEATS)))
    for answer in answers:
        if answer.status_code != httpx.codes.CREATED:
            assert answer.status_code == httpx.codes.CONFLICT, answer.text
            assert answer.json()["code"] == "idempotency_key_in_use"
            assert answer.headers["retry-after"] == "1"
    return [answer for answer in answers if answer.status_code == httpx.codes.CREATED]


def test_a_repeated_send_gets_the_same_answer(a_user: MakeUser) -> None:
    sender, taker = a_user(funds_fen=5000), a_user()
    first = sender.send(key="k", greeting="恭喜")
    taker.grab(first.json()["packet_id"])

    again = sender.send(key="k", greeting="恭喜")

    assert (first.status_code, again.status_code) == (201, 201)
    assert again.json() == first.json()
    assert sender.balance_fen() == 4000


def test_a_repeat_may_write_its_body_another_way(a_user: MakeUser) -> None:
    sender = a_user(funds_fen=5000)
    first = sender.send(key="k", greeting="恭喜")
    escaped = b'{ "greeting": "\\u606d\\u559c",\n "count": 5, "total_fen": 1000, "kind": "lucky" }'

    again = sender.http.post("/packets", content=escaped, headers={"Idempotency-Key": "k"})

    assert again.json() == first.json()
    assert sender.balance_fen() == 4000


def test_other_keys_send_other_packets(a_user: MakeUser) -> None:
    sender = a_user(funds_fen=5000)

    ids = {sender.send(key=key).json()["packet_id"] for key in ("k", "K", "k2", "k" * 255)}

    assert len(ids) == 4
    assert sender.balance_fen() == 1000


def test_the_same_key_of_two_users_is_two_keys(a_user: MakeUser) -> None:
    users = [a_user(funds_fen=1000), a_user(funds_fen=1000)]

    sent = [user.send(key="k").json() for user in users]

    assert sent[0]["packet_id"] != sent[1]["packet_id"]
    assert [user.balance_fen() for user in users] == [0, 0]


def test_twenty_sends_at_once_with_one_key_send_one_packet(
    a_user: MakeUser, eventually: Eventually
) -> None:
    sender = a_user(funds_fen=5000)

    answers = _race(lambda: sender.send(key="k"))

    packet = eventually(lambda: _created(sender.send(key="k")))
    assert answers
    assert all(answer.json() == packet for answer in answers)
    assert sender.balance_fen() == 4000
    assert sender.http.get("/me/sent").json()["count"] == 1


def test_twenty_sends_at_once_for_all_the_money_send_what_it_covers(a_user: MakeUser) -> None:
    sender = a_user(funds_fen=3000)

    with ThreadPoolExecutor(max_workers=REPEATS) as pool:
        answers = list(pool.map(lambda _: sender.send(), range(REPEATS)))

    codes = [answer.json().get("code", "sent") for answer in answers]
    assert 1 <= codes.count("sent") <= 3
    assert set(codes) <= {"sent", "insufficient_funds", "idempotency_key_in_use"}
    assert sender.balance_fen() == 3000 - 1000 * codes.count("sent")


def test_a_repeated_deposit_gets_the_same_answer(a_user: MakeUser, operator: User) -> None:
    body = {"user": a_user().host_id, "amount_fen": 700}
    key = uuid.uuid4().hex

    first = operator.post("/admin/deposits", body, key=key)
    again = operator.post("/admin/deposits", body, key=key)

    assert (first.status_code, again.status_code) == (201, 201)
    assert again.json() == first.json()


def test_twenty_deposits_at_once_with_one_key_are_one(
    a_user: MakeUser, operator: User, eventually: Eventually
) -> None:
    user = a_user()
    body = {"user": user.host_id, "amount_fen": 700}
    key = uuid.uuid4().hex

    answers = _race(lambda: operator.post("/admin/deposits", body, key=key))

    deposit = eventually(lambda: _created(operator.post("/admin/deposits", body, key=key)))
    assert answers
    assert {answer.json()["transfer_id"] for answer in answers} == {deposit["transfer_id"]}
    assert user.balance_fen() == 700
    assert len(user.http.get("/me/transfers").json()["items"]) == 1


@pytest.mark.parametrize("key", ["k", "{}#:/\\", "клавиша", "0"])
def test_sends_and_deposits_do_not_share_idempotency_keys(a_user: MakeUser, key: str) -> None:
    user = a_user(funds_fen=2000, scope="hongbao/admin")
    header = {b"Idempotency-Key": key.encode()}
    send = {"kind": "lucky", "total_fen": 1000, "count": 5}
    payee = a_user()
    deposit = {"user": payee.host_id, "amount_fen": 5}

    sent = user.http.post("/packets", json=send, headers=header)
    deposited = user.http.post("/admin/deposits", json=deposit, headers=header)

    assert sent.status_code == httpx.codes.CREATED, sent.text
    assert deposited.status_code == httpx.codes.CREATED, deposited.text
    assert (user.balance_fen(), payee.balance_fen()) == (1000, 5)


def _created(answer: httpx.Response) -> dict[str, object] | None:
    if answer.status_code != httpx.codes.CREATED:
        return None
    body: dict[str, object] = answer.json()
    return body
