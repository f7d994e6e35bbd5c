"""Trial in an AWS account and its teardown, run against the emulator. The trial's shell commands
are recorded instead of run.
"""

import json
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError, WaiterError

from local import places, teardown, try_aws
from local.account import CONCURRENCY_MIN, check_concurrency
from local.errors import StackError
from local.stack import Stack
from local.teardown import Teardown, confirm
from local.template import read_long_form
from local.try_aws import FUNDS_FEN, USER, Trial

STACK = "redpacket-dev"
TEMPLATE = {
    "Parameters": {
        name: {"Type": "String", "Default": default}
        for name, default in {
            "HostPage": "false",
            "CoverHosts": "",
            "OperatorIssuer": "",
            "WeChatSecretArn": "",
        }.items()
    },
    "Resources": {
        "PageBucket": {"Type": "AWS::S3::Bucket"},
        "ExportBucket": {"Type": "AWS::S3::Bucket"},
        "AccountsTable": {
            "Type": "AWS::DynamoDB::Table",
            "DeletionPolicy": "Retain",
            "Properties": {
                "BillingMode": "PAY_PER_REQUEST",
                "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
                "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
            },
        },
        "UserIdKey": {"Type": "AWS::SecretsManager::Secret", "DeletionPolicy": "Retain"},
        "UserPool": {
            "Type": "AWS::Cognito::UserPool",
            "DeletionPolicy": "Retain",
            "Properties": {"UserPoolName": "users", "UsernameAttributes": ["email"]},
        },
        "UserPoolClient": {
            "Type": "AWS::Cognito::UserPoolClient",
            "Properties": {"UserPoolId": {"Ref": "UserPool"}},
        },
    },
    "Outputs": {
        "PageBucketName": {"Value": {"Ref": "PageBucket"}},
        "PageUrl": {"Value": "https://d1.cloudfront.example"},
        "AccountsTable": {"Value": {"Ref": "AccountsTable"}},
        "UserIdKey": {"Value": {"Ref": "UserIdKey"}},
        "UserPoolId": {"Value": {"Ref": "UserPool"}},
        "UserPoolClientId": {"Value": {"Ref": "UserPoolClient"}},
    },
}


class Account:
    """Account in the emulator, with the commands and messages of the trial and the teardown."""

    def __init__(self, session: boto3.Session) -> None:
        self.session = session
        self.said: list[str] = []
        self.ran: list[list[str]] = []
        self.returncode = 0

    @property
    def cloud(self) -> Any:
        return self.session.client("cloudformation")

    @property
    def outputs(self) -> dict[str, str]:
        (made,) = self.cloud.describe_stacks(StackName=STACK)["Stacks"]
        return {each["OutputKey"]: each["OutputValue"] for each in made["Outputs"]}

    def trial(self) -> Trial:
        return Trial(self.session, "sam", self.said.append, self.run)

    def teardown(self) -> Teardown:
        return Teardown(STACK, self.session, self.said.append)

    def exists(self) -> bool:
        try:
            (made,) = self.cloud.describe_stacks(StackName=STACK)["Stacks"]
        except ClientError:
            return False
        return bool(made["StackStatus"] != "DELETE_COMPLETE")

    def create(self) -> None:
        if not self.exists():
            self.cloud.create_stack(StackName=STACK, TemplateBody=json.dumps(TEMPLATE))
            self.cloud.get_waiter("stack_create_complete").wait(
                StackName=STACK, WaiterConfig={"Delay": 1, "MaxAttempts": 60}
            )

    def run(self, command: list[str], **_: object) -> Any:
        self.ran.append(command)
        if command[1] != "deploy":
            return SimpleNamespace(returncode=0)
        if not self.returncode:
            self.create()
        return SimpleNamespace(returncode=self.returncode)


@pytest.fixture
def account(stack: Stack, monkeypatch: pytest.MonkeyPatch) -> Iterator[Account]:
    if not places.PAGE.exists():
        pytest.skip("the page isn't built: make page")
    monkeypatch.setenv("AWS_ENDPOINT_URL", stack.aws("s3").meta.endpoint_url)
    monkeypatch.setattr(teardown, "LOOK_S", 1)
    account = Account(
        boto3.Session(
            aws_access_key_id="test", aws_secret_access_key="test", region_name="us-east-1"
        )
    )
    yield account
    if account.exists():
        account.teardown().run(has_all=True)


@pytest.mark.parametrize("is_new", [False, True])
def test_the_trial_deploys_publishes_and_creates_a_user_with_money(
    account: Account, monkeypatch: pytest.MonkeyPatch, *, is_new: bool
) -> None:
    monkeypatch.setattr(try_aws, "has_distribution", lambda _: not is_new)

    account.trial().up()

    assert account.ran[0] == ["make", "page", "build"]
    deploys = [command for command in account.ran if command[1] == "deploy"]
    # AWS may refuse the first distribution of a new account, so a second deployment creates it.
    expected = ["HostPage=false", "HostPage=true"] if is_new else ["HostPage=true"]
    assert [command[-1] for command in deploys] == expected
    assert all(command[:4] == ["sam", "deploy", "--config-env", "dev"] for command in deploys)
    users = account.session.client("cognito-idp")
    outputs = account.outputs
    user = users.admin_get_user(UserPoolId=outputs["UserPoolId"], Username=USER)
    sub = {each["Name"]: each["Value"] for each in user["UserAttributes"]}["sub"]
    assert account.ran[-1][1:] == [
        *("--stack", STACK, "deposit", sub, str(FUNDS_FEN), "--key", "try-aws"),
    ]
    page = account.session.client("s3").get_object(
        Bucket=outputs["PageBucketName"], Key="config.json"
    )
    assert json.loads(page["Body"].read())["auth"]["client_id"] == outputs["UserPoolClientId"]
    told = "\n".join(account.said)
    assert outputs["PageUrl"] in told
    password = told.partition("Password  ")[2].split()[0]
    assert len(password) >= 12
    assert user["UserStatus"] == "CONFIRMED"


def test_a_repeat_of_the_trial_uses_the_same_user(account: Account) -> None:
    for _ in range(2):
        account.trial().up()

    deposits = {tuple(command) for command in account.ran if "deposit" in command}
    assert len(deposits) == 1


def test_a_trial_whose_deployment_fails_stops(account: Account) -> None:
    account.returncode = 1

    with pytest.raises(StackError, match="first CREATE_FAILED"):
        account.trial().up()

    assert account.ran[-1][1] == "deploy"


def test_a_stack_whose_creation_was_rolled_back_is_deleted_before_a_repeat(
    account: Account,
) -> None:
    none = {"Fn::Select": [1, ["only one"]]}
    network = {"VpcId": {"Ref": "Network"}, "CidrBlock": "10.0.0.0/28"}
    template = {
        "Resources": {
            "Network": {"Type": "AWS::EC2::VPC", "Properties": {"CidrBlock": "10.0.0.0/24"}},
            "Subnet": {
                "Type": "AWS::EC2::Subnet",
                "Properties": {**network, "AvailabilityZone": none},
            },
        }
    }
    account.cloud.create_stack(StackName=STACK, TemplateBody=json.dumps(template))
    with pytest.raises(WaiterError):
        account.cloud.get_waiter("stack_create_complete").wait(
            StackName=STACK, WaiterConfig={"Delay": 1, "MaxAttempts": 20}
        )
    (rolled_back,) = account.cloud.describe_stacks(StackName=STACK)["Stacks"]
    assert rolled_back["StackStatus"] == "ROLLBACK_COMPLETE"

    account.trial().up()

    assert account.outputs["PageUrl"] in "\n".join(account.said)


@pytest.mark.parametrize(
    ("region", "words"), [("cn-north-1", "has no user pools"), (None, "no Region is given")]
)
def test_a_trial_refuses_a_wrong_region(
    account: Account, region: str | None, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(try_aws, "settings_of", lambda _: {"stack_name": STACK})
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION"):
        monkeypatch.delenv(name, raising=False)
    trial = Trial(boto3.Session(region_name=region), "sam", account.said.append, account.run)

    with pytest.raises(StackError, match=words):
        trial.up()

    assert account.ran == []


def test_an_account_that_is_too_small_is_reported_before_anything_is_created() -> None:
    def functions(limit: int) -> Any:
        settings = {"AccountLimit": {"ConcurrentExecutions": limit}}
        return SimpleNamespace(get_account_settings=lambda: settings)

    for stage, needed in CONCURRENCY_MIN.items():
        assert check_concurrency(stage, functions(needed)) == needed
        with pytest.raises(StackError, match=r"runs \d+ Lambda .* --desired-value 1000"):
            check_concurrency(stage, functions(needed - 1))


def test_prod_needs_the_concurrency_that_its_functions_reserve_and_that_lambda_keeps() -> None:
    template = read_long_form()
    of_rating = template["Mappings"]["Ledgers"][template["Parameters"]["LedgerRating"]["Default"]]
    reserved = 0
    for resource in template["Resources"].values():
        match resource.get("Properties", {}).get("ReservedConcurrentExecutions"):
            case {"Fn::If": ["IsProd", int() as count, _]}:
                reserved += count
            case {"Fn::If": ["IsProd", {"Fn::FindInMap": [*_, name]}, _]}:
                reserved += of_rating[name]

    assert reserved + 100 == CONCURRENCY_MIN["prod"]


def test_a_teardown_empties_buckets_and_leaves_the_ledger(account: Account) -> None:
    account.create()
    outputs = account.outputs
    store, glue = account.session.client("s3"), account.session.client("glue")
    bucket = outputs["PageBucketName"]
    store.put_bucket_versioning(Bucket=bucket, VersioningConfiguration={"Status": "Enabled"})
    for body in (b"old", b"new"):
        store.put_object(Bucket=bucket, Key="index.html", Body=body)
    (stack,) = account.cloud.describe_stacks(StackName=STACK)["Stacks"]
    stack_uuid = stack["StackId"].rpartition("/")[2].replace("-", "_")
    names = (f"redpacket_{stack_uuid}_run_1", "redpacket_another_run_1")
    for name in names:
        glue.create_database(DatabaseInput={"Name": name})

    account.teardown().run(has_all=False)

    assert bucket not in [each["Name"] for each in store.list_buckets()["Buckets"]]
    databases = {each["Name"] for each in glue.get_databases()["DatabaseList"]}
    assert databases & set(names) == {names[1]}
    glue.delete_database(Name=names[1])
    assert outputs["AccountsTable"] in _tables(account)


def test_a_teardown_of_the_trial_leaves_nothing(account: Account) -> None:
    account.trial().up()

    outputs, session = account.outputs, account.session

    account.teardown().run(has_all=True)

    secrets = session.client("secretsmanager").list_secrets()["SecretList"]
    pools = session.client("cognito-idp").list_user_pools(MaxResults=60)["UserPools"]
    assert outputs["AccountsTable"] not in _tables(account)
    assert outputs["UserIdKey"] not in [each["ARN"] for each in secrets]
    assert outputs["UserPoolId"] not in [each["Id"] for each in pools]
    # A second teardown finds nothing more to delete.
    account.said.clear()
    account.teardown().run(has_all=True)
    assert not any(text.startswith("emptied") for text in account.said)
    with pytest.raises(StackError, match="there is no stack"):
        account.teardown().run(has_all=False)


def test_a_repeat_deletes_resources_that_outlived_the_stack(account: Account) -> None:
    account.create()
    outputs = account.outputs
    account.teardown().run(has_all=False)
    assert outputs["AccountsTable"] in _tables(account)

    account.teardown().run(has_all=True)

    assert outputs["AccountsTable"] not in _tables(account)


def _tables(account: Account) -> list[str]:
    names: list[str] = account.session.client("dynamodb").list_tables()["TableNames"]
    return names


def test_only_an_operator_who_types_the_name_deletes_a_stack_and_prod_needs_more() -> None:
    confirm(STACK, "dev", lambda _: STACK, "")
    confirm("redpacket-prod", "prod", lambda _: "redpacket-prod", "redpacket-prod")

    with pytest.raises(StackError, match="nothing was deleted"):
        confirm(STACK, "dev", lambda _: "yes", STACK)
    with pytest.raises(StackError, match="FORCE=redpacket-prod"):
        confirm("redpacket-prod", "prod", lambda _: "redpacket-prod", "")
