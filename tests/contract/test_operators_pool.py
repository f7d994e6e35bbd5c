"""Operators in a user pool: the command, the template's function, and the tokens of both."""

import io
import json
import zipfile
from typing import Any

import jwt
import pytest
from typer.testing import CliRunner

from local.template import read_template
from redpacket_cli.main import app
from redpacket_cli.session import Session
from redpacket_cli.show import Screen
from redpacket_cli.target import Target
from testing.platform.cloud import Cloud

PASSWORD = "Lantern-2026-night"
RESOURCES = read_template()["Resources"]


@pytest.fixture(scope="module")
def pool(cloud: Cloud) -> str:
    """Make a pool whose trigger is the template's function, and return its id."""
    function = RESOURCES["GroupScopes"]["Properties"]
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as code:
        code.writestr("index.py", function["Code"]["ZipFile"])
    trust = RESOURCES["GroupScopesRole"]["Properties"]["AssumeRolePolicyDocument"]
    role = cloud.aws("iam").create_role(
        RoleName="group-scopes", AssumeRolePolicyDocument=json.dumps(trust)
    )
    made = cloud.aws("lambda").create_function(
        FunctionName="group-scopes",
        Runtime=function["Runtime"],
        Handler=function["Handler"],
        Role=role["Role"]["Arn"],
        Code={"ZipFile": packed.getvalue()},
    )
    cognito = cloud.aws("cognito-idp")
    pool_id = str(
        cognito.create_user_pool(
            PoolName="operators",
            UsernameAttributes=["email"],
            LambdaConfig={"PreTokenGeneration": made["FunctionArn"]},
        )["UserPool"]["Id"]
    )
    for group in ("AdminGroup", "OperateGroup", "TreasuryGroup", "AuditGroup"):
        name = RESOURCES[group]["Properties"]["GroupName"]
        cognito.create_group(UserPoolId=pool_id, GroupName=name)
    return pool_id


def _command(cloud: Cloud, pool: str, *words: str) -> Any:
    target = Target(connect=lambda service, **_: cloud.aws(service))
    target.local = {"api": "", "emulator": "", "outputs": {"UserPoolId": pool}}
    result = CliRunner().invoke(app, ["--json", *words], obj=Session(target, Screen()))
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout.splitlines()[-1])


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

    _command(cloud, pool, *add)
    _command(cloud, pool, *add)  # a repeat
    token = _id_token(cloud, pool, email)

    assert (token["scope"], token["nickname"]) == ("hongbao/treasury hongbao/audit", "ann")
    assert _command(cloud, pool, "operator", "list")["items"] == [
        {"email": email, "roles": ["treasury", "audit"]}
    ]
    _command(cloud, pool, "operator", "remove", email)
    assert _id_token(cloud, pool, email)["scope"] == ""
    assert _command(cloud, pool, "operator", "list")["items"] == []


def test_a_group_of_another_name_gives_no_scope(cloud: Cloud, pool: str) -> None:
    cognito = cloud.aws("cognito-idp")
    cognito.create_group(UserPoolId=pool, GroupName="hongbao/admin")
    cognito.admin_create_user(UserPoolId=pool, Username="eve@example.com")
    cognito.admin_add_user_to_group(
        UserPoolId=pool, Username="eve@example.com", GroupName="hongbao/admin"
    )

    assert _id_token(cloud, pool, "eve@example.com")["scope"] == ""
