"""Requests that the API gateway refuses or forwards; tests/handlers tests handlers' refusals."""

import time
import uuid
from typing import Any

import httpx
import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

import redpacket
from local.issuer import KEY_ID
from local.packet_ids import PUBLISHED_IDS
from local.stack import Stack
from testing.reconciliation.checks import Told
from tests.integration.conftest import HttpUser, MakeUser, is_turned_away
from tests.integration.refusals import assert_refused

# The id has a valid tag, so handlers look it up.
UNKNOWN_PACKET = PUBLISHED_IDS.sign("A" * 22)


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


def _strangers_key() -> bytes:
    return rsa.generate_private_key(public_exponent=65537, key_size=2048).private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


def test_without_a_valid_token_the_gateway_itself_answers_401_with_its_own_json(
    stack: Stack,
) -> None:
    issuers_key = (stack.state_dir / "issuer.pem").read_bytes()
    tokens = [
        "",
        "Bearer",
        "Bearer token",
        "Bearer ..",
        "Basic c2VuZGVyOnNlY3JldA==",
        "Bearer " + jwt.encode({"sub": "sender-of-refusals"}, "", "none"),
        "Bearer " + _signed(stack, _strangers_key()),
    ]
    wrong = {"exp": 1_700_000_000, "nbf": 4_000_000_000, "aud": "black", "iss": "https://a.example"}
    tokens += [f"Bearer {_signed(stack, issuers_key, **dict([each]))}" for each in wrong.items()]

    for token in [None, *tokens]:
        headers = {"Idempotency-Key": uuid.uuid4().hex}
        headers |= {} if token is None else {"Authorization": token}
        body = {"kind": "lucky", "total_fen": 100, "count": 2}
        answer = httpx.post(f"{stack.api}/packets", json=body, headers=headers, trust_env=False)
        # The gateway itself sends this response, which an HTTP API cannot turn into problem+json.
        assert (answer.status_code, answer.json()) == (401, {"message": "Unauthorized"}), token


@pytest.mark.parametrize("scope", [None, "hongbao/administrator", "openid admin hongbao/admin2"])
def test_routes_of_operators_refuse_other_scopes(
    stack: Stack, told: list[Told], scope: str | None
) -> None:
    user = HttpUser(stack, "sender-of-refusals", told, scope=scope)

    deposit = user.post("/admin/deposits", {"user": user.host_id, "amount_fen": 100})
    audit = user.http.get(f"/admin/packets/{UNKNOWN_PACKET}/audit")

    assert is_turned_away(deposit)
    assert is_turned_away(audit)
    user.http.close()


MALFORMED_IDS = ["%7Bpacket%7D", "{packet}", "A" * 21 + "%00", "A" * 21 + "%FF", "A" * 20 + "%4"]
MALFORMED_IDS += ["%2541", "%E7%BA%A2%E5%8C%85", "A" * 10_240, "%2e%2e"]
# These ids change the path's segments, so the gateway itself may return the 404.
MISLEADING_IDS = ["", f"{UNKNOWN_PACKET[:10]}%2F{UNKNOWN_PACKET[:11]}", "..%2F..%2Fme", "."]
MISLEADING_IDS += ["../nothing", "//"]


def test_an_id_that_no_packet_can_have_is_not_found(a_user: MakeUser) -> None:
    user = a_user()

    def call(packet_id: str) -> httpx.Response:
        # httpx would normalize dots and escapes.
        request = user.http.build_request("POST", "/")
        request.url = request.url.copy_with(raw_path=f"/packets/{packet_id}/grab".encode())
        return user.http.send(request)

    for packet_id in (UNKNOWN_PACKET, *MALFORMED_IDS):
        assert_refused(call(packet_id), 404, "packet_not_found")
    for packet_id in MISLEADING_IDS:
        assert call(packet_id).status_code == httpx.codes.NOT_FOUND, packet_id


@pytest.mark.parametrize("route", ["POST /", "GET /packets", "DELETE /packets", "GET /admin"])
def test_an_unknown_route_is_not_found(a_user: MakeUser, route: str) -> None:
    assert a_user().http.request(*route.split()).status_code == httpx.codes.NOT_FOUND


@pytest.mark.parametrize(
    ("content", "status", "code"),
    [
        (b'{"kind": "\xff\xfe"}', 422, "invalid_request"),
        (bytes(range(256)), 422, "invalid_request"),
        (b" " * 8192, 422, "invalid_request"),
        (b" " * 8193, 413, "payload_too_large"),
        (b"[" * 2**20, 413, "payload_too_large"),
    ],
    ids=["not UTF-8", "every byte", "8 KB", "over 8 KB", "a megabyte"],
)
def test_the_gateway_forwards_bodies_unchanged(
    a_user: MakeUser, content: bytes, status: int, code: str
) -> None:
    headers = {"Idempotency-Key": uuid.uuid4().hex, "Content-Type": "application/json"}

    answer = a_user().http.post("/packets", content=content, headers=headers)

    assert_refused(answer, status, code)


def test_health_needs_no_token(stack: Stack) -> None:
    answer = httpx.get(f"{stack.api}/health", trust_env=False)

    assert answer.status_code == httpx.codes.OK
    assert answer.json() == {"status": "ok", "version": redpacket.__version__}
