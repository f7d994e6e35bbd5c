"""User pool of operators in the emulator, with the template's trigger and groups."""

import io
import json
import zipfile
from typing import Any

from typer.testing import CliRunner, Result

from local.stack import Stack
from local.template import read_template
from redpacket_cli.main import app
from redpacket_cli.session import Session
from redpacket_cli.show import Screen
from redpacket_cli.target import Target

RESOURCES = read_template()["Resources"]


def make_pool(cloud: Stack, name: str) -> str:
    """Create a pool whose trigger is the template's function, and return its id."""
    function = RESOURCES["GroupScopes"]["Properties"]
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as code:
        code.writestr("index.py", function["Code"]["ZipFile"])
    trust = RESOURCES["GroupScopesRole"]["Properties"]["AssumeRolePolicyDocument"]
    role = cloud.aws("iam").create_role(RoleName=name, AssumeRolePolicyDocument=json.dumps(trust))
    made = cloud.aws("lambda").create_function(
        FunctionName=name,
        Runtime=function["Runtime"],
        Handler=function["Handler"],
        Role=role["Role"]["Arn"],
        Code={"ZipFile": packed.getvalue()},
    )
    cognito = cloud.aws("cognito-idp")
    pool_id = str(
        cognito.create_user_pool(
            PoolName=name,
            UsernameAttributes=["email"],
            LambdaConfig={"PreTokenGeneration": made["FunctionArn"]},
        )["UserPool"]["Id"]
    )
    for group in ("AdminGroup", "OperateGroup", "TreasuryGroup", "AuditGroup"):
        group_name = RESOURCES[group]["Properties"]["GroupName"]
        cognito.create_group(UserPoolId=pool_id, GroupName=group_name)
    return pool_id


def command(cloud: Stack, pool: str, *words: str) -> Any:
    """Run `redpacket` *words* for a stack with this pool, and return the JSON output."""
    result = run(cloud, pool, *words)
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout.splitlines()[-1])


def run(cloud: Stack, pool: str, *words: str, answer: str = "") -> Result:
    """Run `redpacket` *words* for a stack with this pool; *answer* is the typed input."""
    target = Target(connect=lambda service, **_: cloud.aws(service))
    target.local = {"api": "", "emulator": "", "outputs": {"UserPoolId": pool}}
    session = Session(target, Screen())
    return CliRunner().invoke(app, ["--json", *words], obj=session, input=answer)
