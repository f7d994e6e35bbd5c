"""Requests with the claims of Cognito's three kinds of tokens, as API Gateway passes them. Its JWT
authorizer turns every claim into text, including lists; `scopes` are those that the route requires.
"""

from typing import Any

import pytest

from redpacket.operations.api.scopes import ADMIN_SCOPE, ADMINS
from redpacket.platform.errors import Forbidden
from redpacket.platform.http.api import BODY_BYTES_MAX, _request_of
from redpacket.platform.http.request import HttpRequest
from redpacket.platform.settings import settings

SUB = "11111111-2222-4333-8444-555555555555"
CLIENT = "1example23456789abcdefghij"
ISSUER = "https://cognito-idp.eu-central-1.amazonaws.com/eu-central-1_EXAMPLE"
COMMON = {
    "iss": ISSUER,
    "auth_time": "1795251600",
    "exp": "1795255200",
    "iat": "1795251600",
    "jti": "aaaaaaaa-bbbb-4ccc-8ddd-eeeeeeeeeeee",
}

ACCESS = {
    **COMMON,
    "sub": SUB,
    "client_id": CLIENT,
    "cognito:groups": "[testers tasters]",
    "origin_jti": "ffffffff-0000-4111-8222-333333333333",
    "event_id": "44444444-5555-4666-8777-888888888888",
    "token_use": "access",
    "scope": "aws.cognito.signin.user.admin",
    "username": SUB,
    "version": "2",
}
ID = {
    **COMMON,
    "sub": SUB,
    "aud": CLIENT,
    "cognito:username": SUB,
    "email": "ann@example.com",
    "email_verified": "true",
    "event_id": "44444444-5555-4666-8777-888888888888",
    "token_use": "id",
}
CREDENTIALS = {
    **COMMON,
    "sub": CLIENT,
    "client_id": CLIENT,
    "token_use": "access",
    "scope": "hongbao/admin",
    "version": "2",
}


def _request(claims: dict[str, str], scopes: list[str] | None = None) -> HttpRequest:
    event: dict[str, Any] = {
        "version": "2.0",
        "routeKey": "GET /me",
        "headers": {"authorization": "Bearer e30.e30.e30"},
        "requestContext": {
            "requestId": "request",
            "authorizer": {"jwt": {"claims": claims, "scopes": scopes}},
        },
        "isBase64Encoded": False,
    }
    return _request_of(event, BODY_BYTES_MAX)


def _is_operator(claims: dict[str, str]) -> bool:
    try:
        _request(claims, [ADMIN_SCOPE]).require_scope(ADMINS)
    except Forbidden:
        return False
    return True


def test_a_user_has_the_same_id_with_either_token() -> None:
    by_access, by_id = _request(ACCESS).user, _request(ID).user

    assert by_access.user_id == by_id.user_id
    # Neither the e-mail nor the name in Cognito becomes a nickname.
    assert by_access.nickname is None
    assert by_id.nickname is None
    assert _request({**ID, "nickname": "安"}).user.nickname == "安"
    # A client that signs in with its own secret is a separate user.
    assert _request(CREDENTIALS).user.user_id != by_access.user_id


def test_only_the_client_of_operators_is_an_operator() -> None:
    assert _is_operator(CREDENTIALS)
    assert not _is_operator(ACCESS)
    assert not _is_operator(ID)


def test_the_issuer_of_users_makes_no_operator_if_operators_have_another_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    claims = {**CREDENTIALS, "scope": ADMIN_SCOPE, "iss": "https://users.example"}
    assert _is_operator(claims)

    monkeypatch.setitem(settings.variables, "OPERATOR_ISSUER", "https://operators.example")

    assert not _is_operator(claims)
    assert not _is_operator({**CREDENTIALS, "scope": ADMIN_SCOPE, "iss": ""})
    assert _is_operator({**claims, "iss": "https://operators.example"})


def test_a_scope_is_one_word_of_several() -> None:
    wrong = ("hongbao/administrator", "other-hongbao/admin", "HONGBAO/ADMIN", "")
    for scope in ("hongbao/admin", "hongbao/read hongbao/admin", *wrong):
        assert _is_operator({**CREDENTIALS, "scope": scope}) is (scope not in wrong), scope


def test_a_group_with_the_name_of_the_scope_makes_no_operator() -> None:
    assert not _is_operator({**ACCESS, "cognito:groups": "[hongbao/admin]"})
