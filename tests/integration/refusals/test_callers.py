"""Callers that the gateway or the functions refuse."""

from __future__ import annotations

import time
import uuid
from typing import Any

import httpx
import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from local.issuer import KEY_ID
from local.stack import Stack
from redpacket.domain.checks.facts import Told
from tests.integration.conftest import User, is_turned_away
from tests.integration.refusals.answers import (
    UNKNOWN_PACKET,
    assert_refused,
    cases,
)

ROUTES = [
    ("POST", "/packets"),
    ("POST", f"/packets/{UNKNOWN_PACKET}/grab"),
    ("GET", f"/packets/{UNKNOWN_PACKET}"),
    ("GET", "/me"),
    ("PUT", "/me/profile"),
    ("GET", "/me/sent"),
    ("GET", "/me/received"),
    ("GET", "/me/transfers"),
    ("POST", "/admin/deposits"),
    ("GET", f"/admin/packets/{UNKNOWN_PACKET}/audit"),
]
each_route = pytest.mark.parametrize(("method", "path"), ROUTES, ids=str)


def _signed(stack: Stack, key: str | bytes, **changes: Any) -> str:
    claims = {
        "iss": f"{stack.api}/dev",
        "aud": "redpacket",
        "sub": "sender-of-refusals",
        "iat": int(time.time()),
        "exp": int(time.time()) + 600,
    }
    headers = {"kid": KEY_ID}
    return jwt.encode({**claims, **changes}, key, algorithm="RS256", headers=headers)


@pytest.fixture(scope="module")
def issuers_key(stack: Stack) -> bytes:
    return (stack.state_dir / "issuer.pem").read_bytes()


@pytest.fixture(scope="module")
def strangers_key() -> bytes:
    return rsa.generate_private_key(public_exponent=65537, key_size=2048).private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )


def assert_turned_away_by_gateway(stack: Stack, headers: dict[str, str], *route: str) -> None:
    method, path = route or ("POST", "/packets")
    body = {"kind": "lucky", "total_fen": 100, "count": 2}
    answer = httpx.request(
        method,
        f"{stack.api}{path}",
        json=body if method == "POST" else None,
        headers={"Idempotency-Key": uuid.uuid4().hex, **headers},
        trust_env=False,
    )
    # An HTTP API can't shape this answer: it is the gateway's own, and no problem+json.
    assert answer.status_code == httpx.codes.UNAUTHORIZED
    assert answer.json() == {"message": "Unauthorized"}


@each_route
def test_without_a_token_the_gateway_itself_answers_401_in_its_own_json(
    stack: Stack, method: str, path: str
) -> None:
    assert_turned_away_by_gateway(stack, {}, method, path)


GARBAGE = {
    "no token after all": "",
    "a scheme alone": "Bearer",
    "a word": "Bearer token",
    "three empty parts": "Bearer ..",
    "another scheme": "Basic c2VuZGVyOnNlY3JldA==",
    "an unsigned token": "Bearer " + jwt.encode({"sub": "sender-of-refusals"}, "", "none"),
}


@cases(GARBAGE)
def test_with_a_garbage_token_the_gateway_itself_answers_401_in_its_own_json(
    stack: Stack, case: str
) -> None:
    assert_turned_away_by_gateway(stack, {"Authorization": case})


WRONG_CLAIMS: dict[str, dict[str, Any]] = {
    "an expired token": {"exp": 1_700_000_000},
    "a token for later": {"nbf": 4_000_000_000},
    "a token for somebody else": {"aud": "blackpacket"},
    "another issuer's token": {"iss": "https://issuer.example"},
}


@cases(WRONG_CLAIMS)
def test_with_a_token_not_for_now_or_us_the_gateway_itself_answers_401_in_its_own_json(
    stack: Stack, issuers_key: bytes, case: dict[str, Any]
) -> None:
    token = _signed(stack, issuers_key, **case)

    assert_turned_away_by_gateway(stack, {"Authorization": f"Bearer {token}"})


def test_with_a_strangers_signature_the_gateway_itself_answers_401_in_its_own_json(
    stack: Stack, strangers_key: bytes
) -> None:
    token = _signed(stack, strangers_key)

    assert_turned_away_by_gateway(stack, {"Authorization": f"Bearer {token}"})


SCOPES = {
    "no scope": None,
    "another scope": "hongbao/read",
    "a longer scope": "hongbao/administrator",
    "a shorter scope": "hongbao",
    "the scope in capitals": "HONGBAO/ADMIN",
    "several other scopes": "openid admin hongbao/admin2",
}


@cases(SCOPES)
def test_operators_routes_refuse_other_scopes(
    stack: Stack, told: list[Told], case: str | None
) -> None:
    user = User(stack, "sender-of-refusals", told, scope=case)

    deposit = user.post("/admin/deposits", {"user": user.host_id, "amount_fen": 100})
    audit = user.http.get(f"/admin/packets/{UNKNOWN_PACKET}/audit")

    assert is_turned_away(deposit)
    assert is_turned_away(audit)
    user.http.close()


WEIRD_SUBJECTS = {
    "a brace": "user{1}",
    "a slash": "tenant/user",
    "a hash": "sent#user",
    "a space": "user 1",
    "200 characters": "u" * 200,
    "129 characters": "u" * 129,
    "dots and slashes": "../operator",
    "a leading minus": "-user",
    "Chinese": "用户",
    "a percent sign": "%00",
    "an asterisk": "*",
}


@cases(WEIRD_SUBJECTS)
def test_a_subject_that_cannot_be_a_user_id_is_refused(
    stack: Stack, told: list[Told], case: str
) -> None:
    user = User(stack, case, told)

    answers = [
        user.send(),
        user.grab(UNKNOWN_PACKET),
        user.http.get(f"/packets/{UNKNOWN_PACKET}"),
        user.http.get("/me"),
        user.http.put("/me/profile", json={"nickname": "n"}),
        user.http.get("/me/sent"),
        user.http.get("/me/received"),
        user.http.get("/me/transfers"),
    ]

    for answer in answers:
        assert_refused(answer, 403, "forbidden")
    user.http.close()
