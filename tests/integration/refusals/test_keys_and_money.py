"""Requests with an invalid idempotency key, and amounts that are invalid or not covered."""

from __future__ import annotations

import uuid
from typing import Any

import httpx
import pytest

from redpacket.domain.ledger import FEN_MAX
from tests.integration.conftest import MakeUser, User
from tests.integration.refusals.answers import (
    WRONG_TYPES,
    assert_invalid,
    assert_refused,
    cases,
)

# ---------------------------------------------------------------- the idempotency key

UNUSABLE_KEYS: dict[str, dict[str, str]] = {
    "no key": {},
    "an empty key": {"Idempotency-Key": ""},
    "a key of 256 characters": {"Idempotency-Key": "k" * 256},
}


@pytest.mark.parametrize("path", ["/packets", "/admin/deposits"])
@cases(UNUSABLE_KEYS)
def test_without_a_usable_idempotency_key_no_money_moves(
    boss: User, path: str, case: dict[str, str]
) -> None:
    body = {"/packets": {"kind": "lucky", "total_fen": 100, "count": 2}}.get(
        path, {"user": "somebody", "amount_fen": 100}
    )

    answer = boss.http.post(path, json=body, headers=case)

    assert_refused(answer, 400, "idempotency_key_missing")


def test_a_key_that_comes_with_another_order_is_refused(a_user: MakeUser) -> None:
    user = a_user(funds_fen=3000)
    first = user.send(key="k", total_fen=1000, count=5)

    other = user.send(key="k", total_fen=1000, count=4)

    assert first.status_code == httpx.codes.CREATED
    assert_refused(other, 422, "idempotency_key_reused")
    assert user.balance_fen() == 2000


def test_a_key_that_comes_with_another_deposit_is_refused(a_user: MakeUser, operator: User) -> None:
    user, other = a_user(), a_user()
    key = uuid.uuid4().hex
    operator.post("/admin/deposits", {"user": user.host_id, "amount_fen": 10}, key=key)

    more = operator.post("/admin/deposits", {"user": user.host_id, "amount_fen": 11}, key=key)
    elsewhere = operator.post("/admin/deposits", {"user": other.host_id, "amount_fen": 10}, key=key)

    assert_refused(more, 422, "idempotency_key_reused")
    assert_refused(elsewhere, 422, "idempotency_key_reused")
    assert (user.balance_fen(), other.balance_fen()) == (10, 0)


# ---------------------------------------------------------------- money


@pytest.mark.parametrize("total_fen", [1001, 20_000])
def test_a_sender_with_too_little_money_sends_nothing(a_user: MakeUser, total_fen: int) -> None:
    user = a_user(funds_fen=1000)

    answer = user.send(total_fen=total_fen, count=1)

    assert_refused(answer, 402, "insufficient_funds")
    assert user.balance_fen() == 1000
    assert user.http.get("/me/sent").json()["items"] == []


def test_a_user_without_an_account_sends_nothing(a_user: MakeUser) -> None:
    user = a_user()

    assert_refused(user.send(), 402, "insufficient_funds")
    assert user.balance_fen() == 0


def test_a_refused_order_does_not_use_up_its_key(a_user: MakeUser, operator: User) -> None:
    user = a_user()
    assert_refused(user.send(key="k"), 402, "insufficient_funds")
    operator.post("/admin/deposits", {"user": user.host_id, "amount_fen": 1000})

    again = user.send(key="k")

    assert again.status_code == httpx.codes.CREATED
    assert user.balance_fen() == 0


REFUSED_DEPOSITS = {
    "no user": ({"user": ""}, "user"),
    "a user with a brace": ({"user": "user{1}"}, "user"),
    "a user with a slash": ({"user": "tenant/user"}, "user"),
    "a user of 129 characters": ({"user": "u" * 129}, "user"),
    "a user with a null byte": ({"user": "user\x00"}, "user"),
    "a user with a line feed": ({"user": "user\n"}, "user"),
    "a number as user": ({"user": 7}, "user"),
    "a user of null": ({"user": None}, "user"),
    "no money": ({"amount_fen": 0}, "amount_fen"),
    "a deposit that takes": ({"amount_fen": -1}, "amount_fen"),
    "a fen over the cap": ({"amount_fen": FEN_MAX + 1}, "amount_fen"),
    "a fen over what one deposit may bring": ({"amount_fen": 10**10 + 1}, "amount_fen"),
    "31 digits": ({"amount_fen": 10**30}, "amount_fen"),
    "an amount of null": ({"amount_fen": None}, "amount_fen"),
    "an unknown field": ({"account": "deposits"}, "account"),
    **{name: ({"amount_fen": value}, "amount_fen") for name, value in WRONG_TYPES.items()},
}


@cases(REFUSED_DEPOSITS)
def test_a_deposit_of_another_form_is_refused(boss: User, case: tuple[dict[str, Any], str]) -> None:
    change, field = case

    answer = boss.post("/admin/deposits", {"user": "somebody", "amount_fen": 100, **change})

    assert_invalid(answer, field)


def test_operators_do_not_credit_themselves(boss: User) -> None:
    answer = boss.post("/admin/deposits", {"user": boss.host_id, "amount_fen": 100})

    assert_refused(answer, 403, "forbidden")
    assert boss.balance_fen() == 0
