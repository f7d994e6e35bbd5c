"""Concurrent requests: money moves once per idempotency key, and never more than the balance."""

import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import httpx

from tests.integration.conftest import Eventually, HttpUser, MakeUser

REPEATS = 20


def _race(ask: Callable[[], httpx.Response]) -> list[httpx.Response]:
    """Send 20 concurrent requests; check that the refusals are temporary; return the successes."""
    with ThreadPoolExecutor(max_workers=REPEATS) as pool:
        answers = list(pool.map(lambda _: ask(), range(REPEATS)))
    for answer in answers:
        if answer.status_code != httpx.codes.CREATED:
            assert answer.status_code == httpx.codes.CONFLICT, answer.text
            assert answer.json()["code"] == "idempotency_key_in_use"
            assert answer.headers["retry-after"] == "1"
    return [answer for answer in answers if answer.status_code == httpx.codes.CREATED]


def test_twenty_concurrent_sends_with_one_key_send_one_packet(
    a_user: MakeUser, eventually: Eventually
) -> None:
    sender = a_user(funds_fen=5000)

    answers = _race(lambda: sender.send(key="k"))

    packet = eventually(lambda: _created(sender.send(key="k")))
    assert answers
    assert all(answer.json() == packet for answer in answers)
    assert sender.balance_fen() == 4000
    assert sender.http.get("/me/sent").json()["count"] == 1


def test_twenty_concurrent_sends_of_all_the_money_spend_only_the_balance(a_user: MakeUser) -> None:
    sender = a_user(funds_fen=3000)

    with ThreadPoolExecutor(max_workers=REPEATS) as pool:
        answers = list(pool.map(lambda _: sender.send(), range(REPEATS)))

    codes = [answer.json().get("code", "sent") for answer in answers]
    assert 1 <= codes.count("sent") <= 3
    assert set(codes) <= {"sent", "insufficient_funds", "idempotency_key_in_use"}
    assert sender.balance_fen() == 3000 - 1000 * codes.count("sent")


def test_twenty_concurrent_deposits_with_one_key_are_one(
    a_user: MakeUser, operator: HttpUser, eventually: Eventually
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


def test_sends_and_deposits_do_not_share_idempotency_keys(a_user: MakeUser) -> None:
    user = a_user(funds_fen=2000, scope="hongbao/admin")
    header = {b"Idempotency-Key": "клавиша {}#:/".encode()}
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
