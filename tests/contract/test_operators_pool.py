"""Operators in a user pool: the command, the template's function, and the tokens of both."""

from typing import Any

import jwt
import pytest

from testing.platform.cloud import Cloud
from testing.platform.operators_pool import command, make_pool

PASSWORD = "Lantern-2026-night"


@pytest.fixture(scope="module")
def pool(cloud: Cloud) -> str:
    return make_pool(cloud, "operators")


def _id_token(cloud: Cloud, pool: str, email: str) -> dict[str, Any]:
    """Sign in, and return what the ID token says."""
    cognito = cloud.aws("cognito-idp")
    client = cognito.create_user_pool_client(
        UserPoolId=pool, ClientName="console", ExplicitAuthFlows=["ALLOW_ADMIN_USER_PASSWORD_AUTH"]
    )["UserPoolClient"]["ClientId"]
    cognito.admin_set_user_password(
        UserPoolId=pool, Username=email, Password=PASSWORD, Permanent=True
    )
    answer = cognito.admin_initiate_auth(
        UserPoolId=pool,
        ClientId=client,
        AuthFlow="ADMIN_USER_PASSWORD_AUTH",
        AuthParameters={"USERNAME": email, "PASSWORD": PASSWORD},
    )
    token = answer["AuthenticationResult"]["IdToken"]
    claims: dict[str, Any] = jwt.decode(token, options={"verify_signature": False})
    return claims


def test_an_added_operator_signs_in_with_the_scopes_of_their_roles(cloud: Cloud, pool: str) -> None:
    email = "ann@example.com"
    add = ("operator", "add", email, "--role", "treasury", "--role", "audit")

    command(cloud, pool, *add)
    command(cloud, pool, *add)  # a repeat
    token = _id_token(cloud, pool, email)

    assert (token["scope"], token["nickname"]) == ("hongbao/treasury hongbao/audit", "ann")
    assert command(cloud, pool, "operator", "list")["items"] == [
        {"email": email, "roles": ["treasury", "audit"]}
    ]
    command(cloud, pool, "operator", "remove", email)
    assert _id_token(cloud, pool, email)["scope"] == ""
    assert command(cloud, pool, "operator", "list")["items"] == []


def test_a_group_of_another_name_gives_no_scope(cloud: Cloud, pool: str) -> None:
    cognito = cloud.aws("cognito-idp")
    cognito.create_group(UserPoolId=pool, GroupName="hongbao/admin")
    cognito.admin_create_user(UserPoolId=pool, Username="eve@example.com")
    cognito.admin_add_user_to_group(
        UserPoolId=pool, Username="eve@example.com", GroupName="hongbao/admin"
    )

    assert _id_token(cloud, pool, "eve@example.com")["scope"] == ""
