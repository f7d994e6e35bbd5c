"""Operators in a user pool: the command that adds them, the template's function, and their
tokens.
"""

from typing import Any

import jwt
import pytest

from testing.platform.cloud import Cloud
from testing.platform.operators_pool import command, make_pool, run

PASSWORD = "Lantern-2026-night"


@pytest.fixture(scope="module")
def pool(cloud: Cloud) -> str:
    return make_pool(cloud, "operators")


def _id_token(cloud: Cloud, pool: str, email: str) -> dict[str, Any]:
    """Sign in, and return the claims of the ID token."""
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
    command(cloud, pool, *add)  # Repeat the call.
    token = _id_token(cloud, pool, email)

    assert (token["scope"], token["nickname"]) == ("hongbao/treasury hongbao/audit", "ann")
    assert command(cloud, pool, "operator", "list")["items"] == [
        {"email": email, "roles": ["treasury", "audit"]}
    ]
    command(cloud, pool, "operator", "remove", email)
    assert _id_token(cloud, pool, email)["scope"] == ""
    assert command(cloud, pool, "operator", "list")["items"] == []


def _register(
    cloud: Cloud, pool: str, email: str, *, is_confirmed: bool, is_verified: bool
) -> None:
    """Register an account, as a stranger could with an operator's address."""
    cognito = cloud.aws("cognito-idp")
    client = cognito.create_user_pool_client(UserPoolId=pool, ClientName="page")["UserPoolClient"]
    cognito.sign_up(ClientId=client["ClientId"], Username=email, Password=PASSWORD)
    if is_confirmed:
        cognito.admin_confirm_sign_up(UserPoolId=pool, Username=email)
    verified = {"Name": "email_verified", "Value": str(is_verified).lower()}
    attributes = [{"Name": "email", "Value": email}, verified]
    cognito.admin_update_user_attributes(UserPoolId=pool, Username=email, UserAttributes=attributes)


def _operators(cloud: Cloud, pool: str) -> set[str]:
    return {each["email"] for each in command(cloud, pool, "operator", "list")["items"]}


@pytest.mark.parametrize(
    ("name", "is_confirmed", "is_verified"),
    [("new", False, False), ("unconfirmed", False, True), ("unverified", True, False)],
)
def test_an_account_with_an_unverified_address_becomes_no_operator(
    cloud: Cloud, pool: str, name: str, *, is_confirmed: bool, is_verified: bool
) -> None:
    email = f"{name}@example.com"
    _register(cloud, pool, email, is_confirmed=is_confirmed, is_verified=is_verified)

    refused = run(cloud, pool, "operator", "add", email, "--role", "treasury", "--yes")

    assert refused.exit_code == 3
    assert email not in _operators(cloud, pool)


def test_a_disabled_account_becomes_no_operator(cloud: Cloud, pool: str) -> None:
    email = "gone@example.com"
    _register(cloud, pool, email, is_confirmed=True, is_verified=True)
    cloud.aws("cognito-idp").admin_disable_user(UserPoolId=pool, Username=email)

    refused = run(cloud, pool, "operator", "add", email, "--role", "treasury", "--yes")

    assert refused.exit_code == 3
    assert email not in _operators(cloud, pool)


def test_an_existing_account_becomes_an_operator_only_if_confirmed(cloud: Cloud, pool: str) -> None:
    email, cognito = "cfo@example.com", cloud.aws("cognito-idp")
    _register(cloud, pool, email, is_confirmed=True, is_verified=True)
    add = ("operator", "add", email, "--role", "treasury", "--name", "Ann")

    assert run(cloud, pool, *add, answer="n\n").exit_code == 1
    assert email not in _operators(cloud, pool)
    command(cloud, pool, *add, "--yes")

    user = cognito.admin_get_user(UserPoolId=pool, Username=email)
    # The stranger who registered the account may know its password.
    assert user["UserStatus"] == "RESET_REQUIRED"
    assert {"Name": "nickname", "Value": "Ann"} in user["UserAttributes"]
    assert email in _operators(cloud, pool)


def test_a_repeat_changes_the_name_without_a_prompt(cloud: Cloud, pool: str) -> None:
    add = ("operator", "add", "dan@example.com", "--role", "audit")
    command(cloud, pool, *add)

    command(cloud, pool, *add, "--name", "Dan")

    assert _id_token(cloud, pool, "dan@example.com")["nickname"] == "Dan"


def test_a_group_with_another_name_gives_no_scope(cloud: Cloud, pool: str) -> None:
    cognito = cloud.aws("cognito-idp")
    cognito.create_group(UserPoolId=pool, GroupName="hongbao/admin")
    cognito.admin_create_user(UserPoolId=pool, Username="eve@example.com")
    cognito.admin_add_user_to_group(
        UserPoolId=pool, Username="eve@example.com", GroupName="hongbao/admin"
    )

    assert _id_token(cloud, pool, "eve@example.com")["scope"] == ""
