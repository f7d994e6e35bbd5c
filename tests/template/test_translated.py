"""Template after SAM's translation: versions and aliases, retries, recursion, reserved concurrency,
and retention.
"""

import json
import re
from collections.abc import Callable
from functools import partial
from itertools import chain
from typing import Any

import pytest

from tests.template.translated import STACK_OF, STACKS, Stack, source, translate

each_stack = pytest.mark.parametrize("stack", STACKS, ids=lambda stack: stack.name)

PROD, DEV = STACK_OF["prod"], STACK_OF["dev"]
FUNCTIONS = sorted(
    name
    for name, each in source()["Resources"].items()
    if each["Type"] == "AWS::Serverless::Function"
)


# ---- versions

Change = Callable[[dict[str, Any]], None]


def _versions(template: dict[str, Any]) -> dict[str, str]:
    """Return the logical id of each function's version. A new id publishes a new version."""
    return {
        each["Properties"]["FunctionName"]["Ref"]: name
        for name, each in template["Resources"].items()
        if each["Type"] == "AWS::Lambda::Version"
    }


def _stamp(template: dict[str, Any]) -> None:
    template["Globals"]["Function"]["Environment"]["Variables"]["RELEASE"] = "20261122T021500Z"


def _change(kind: str, name: str, prop: str, value: object, template: dict[str, Any]) -> None:
    resource = template["Resources"][name]
    assert resource["Type"].endswith(kind)
    resource["Properties"][prop] = value


SHARED = partial(_change, "LayerVersion", "SharedLayer", "ContentUri", "s3://artifacts/new")


def _some(template: dict[str, Any]) -> None:
    """Change a layer of three functions, the code of another function, and the memory of yet
    another.
    """
    _change("LayerVersion", "PassphraseLayer", "ContentUri", "s3://artifacts/new", template)
    _change("Function", "SendFunction", "CodeUri", "s3://artifacts/new", template)
    _change("Function", "ProfileFunction", "MemorySize", 2048, template)


@pytest.mark.parametrize(
    ("change", "published"),
    [
        pytest.param(_stamp, set(FUNCTIONS), id="a deployment"),
        pytest.param(SHARED, set(FUNCTIONS), id="shared code"),
        pytest.param(
            _some,
            {
                *("GrabFunction", "LotteryFunction", "ChatFunction"),
                "SendFunction",
                "ProfileFunction",
            },
            id="some of them",
        ),
    ],
)
def test_changed_functions_are_published(change: Change, published: set[str]) -> None:
    changed = source()
    change(changed)

    before, after = _versions(DEV.template), _versions(translate(changed))

    assert before.keys() == after.keys() == set(FUNCTIONS)
    assert {name for name in before if before[name] != after[name]} == published


def test_a_changed_parameter_value_alone_is_not_published() -> None:
    # SAM publishes no version in this case, so `make deploy` writes RELEASE. Remove RELEASE once
    # SAM publishes one.
    assert _versions(DEV.template) == _versions(translate(source(), OpenPacketsMax="1"))


@each_stack
def test_every_trigger_of_a_function_calls_its_alias(stack: Stack) -> None:
    aliases = {stack.ref(name) for name in stack.of_type("AWS::Lambda::Alias")}
    integrations = stack.of_type("AWS::ApiGatewayV2::Integration").values()
    rules = stack.of_type("AWS::Events::Rule").values()
    ways = [each["IntegrationUri"] for each in integrations]
    machine = stack.ref("ReconcileMachine")
    targets = [target["Arn"] for rule in rules for target in rule["Targets"]]
    ways += [arn for arn in targets if arn != machine]
    permissions = stack.of_type("AWS::Lambda::Permission")
    permissions.pop("GroupScopesPermission", None)  # Cognito calls this function without an alias.
    ways += [each["FunctionName"] for each in permissions.values()]
    ways += [
        each["FunctionName"] for each in stack.of_type("AWS::Lambda::EventSourceMapping").values()
    ]

    assert set(ways) <= aliases
    assert len(aliases) == len(FUNCTIONS) - (not stack.is_true("HasChat"))
    # Every rule has permission to call its target.
    permitted = {
        (each["FunctionName"], each["SourceArn"])
        for each in stack.of_type("AWS::Lambda::Permission").values()
        if each["Principal"] == "events.amazonaws.com"
    }
    led = {
        (target["Arn"], stack.arn(name))
        for name, rule in stack.of_type("AWS::Events::Rule").items()
        for target in rule["Targets"]
        if target["Arn"] != machine
    }
    assert permitted == led


def test_a_canary_is_created_on_request_and_watches_answers() -> None:
    with_canary = STACK_OF["kept warm, with a canary"]
    groups = with_canary.of_type("AWS::CodeDeploy::DeploymentGroup")

    assert not [each for each in PROD.resources.values() if "CodeDeploy" in each["Type"]]
    assert len(groups) == len(FUNCTIONS) - 1, "this stack has no chats"
    for group in groups.values():
        assert group["AlarmConfiguration"]["Alarms"] == [
            {"Name": with_canary.ref("ApiErrorsAlarm")},
            {"Name": with_canary.ref("GatewayErrorsAlarm")},
        ]


def test_the_public_functions_start_from_a_snapshot_on_request() -> None:
    stack = STACK_OF["a page, with packets in other pages"]
    snapshots = {
        name
        for name, each in stack.of_type("AWS::Lambda::Function").items()
        if each.get("SnapStart", {}).get("ApplyOn") == "PublishedVersions"
    }

    assert snapshots == {"SendFunction", "GrabFunction", "LotteryFunction"}
    assert "PublishedVersions" not in str(PROD.of_type("AWS::Lambda::Function"))


def test_a_schedule_calls_each_alias_whose_snapshot_would_become_inactive() -> None:
    stack = STACK_OF["a page, with packets in other pages"]
    (rule,) = [
        each
        for each in stack.of_type("AWS::Events::Rule").values()
        if each["ScheduleExpression"] == "rate(1 day)"
    ]
    allowed = {
        each["FunctionName"]
        for name, each in stack.of_type("AWS::Lambda::Permission").items()
        if name.startswith("Keep")
    }

    assert {target["Arn"] for target in rule["Targets"]} == allowed
    assert {arn.rpartition("-")[2] for arn in allowed} == {
        f"{name}Aliaslive" for name in ("SendFunction", "GrabFunction", "LotteryFunction")
    }
    assert "KeepSnapshots" not in PROD.resources


def test_only_the_aliases_of_the_public_functions_are_kept_warm() -> None:
    warm = {
        each["FunctionName"]: each["ProvisionedConcurrencyConfig"][
            "ProvisionedConcurrentExecutions"
        ]
        for each in STACK_OF["kept warm, with a canary"].of_type("AWS::Lambda::Alias").values()
        if "ProvisionedConcurrencyConfig" in each
    }

    assert {name.rpartition("-")[2]: count for name, count in warm.items()} == {
        "GrabFunction": "100",
    }
    aliases = PROD.of_type("AWS::Lambda::Alias").values()
    assert not any("ProvisionedConcurrencyConfig" in each for each in aliases)


# ---- retries, recursion, reserves


@each_stack
def test_lambda_does_not_retry_scheduled_calls(stack: Stack) -> None:
    scheduled = {
        target["Arn"]
        for rule in stack.of_type("AWS::Events::Rule").values()
        for target in rule["Targets"]
        # Leave out the state machine, and the daily calls that only keep snapshots.
        if target["Arn"] != stack.ref("ReconcileMachine")
        and rule["ScheduleExpression"] != "rate(1 day)"
    }
    configured = {
        f"{stack.arn(each['FunctionName'].rpartition('-')[2])}Alias{each['Qualifier']}": (
            each["MaximumRetryAttempts"],
            each["MaximumEventAgeInSeconds"],
        )
        for each in stack.of_type("AWS::Lambda::EventInvokeConfig").values()
    }

    assert configured.keys() == scheduled
    sweep = "ExpireFunction"
    transfers, deliveries = "TransferFunction", "DeliverFunction"
    ages = {arn.rpartition("-")[2].partition("Alias")[0]: age for arn, age in configured.items()}
    assert ages == {
        sweep: (0, 60),
        transfers: (0, 60),
        deliveries: (0, 60),
        "LogFunction": (0, 60),
    }
    # EventBridge must not retry its calls to Lambda functions either.
    for rule in stack.of_type("AWS::Events::Rule").values():
        for target in rule["Targets"]:
            assert target["RetryPolicy"]["MaximumRetryAttempts"] == 0


@each_stack
def test_only_payouts_and_deliveries_may_call_themselves(stack: Stack) -> None:
    functions = stack.of_type("AWS::Lambda::Function")
    allowed = {name for name, each in functions.items() if each.get("RecursiveLoop") == "Allow"}

    assert allowed == {"PayoutFunction", "DeliverFunction"}


def test_in_prod_a_rush_leaves_concurrency_for_money_and_operators() -> None:
    reserved = {
        stack.name: {
            name: each["ReservedConcurrentExecutions"]
            for name, each in stack.of_type("AWS::Lambda::Function").items()
            if "ReservedConcurrentExecutions" in each
        }
        for stack in (PROD, DEV)
    }

    tens = dict.fromkeys(("ExpireFunction", "TransferFunction", "AdminFunction"), 10)
    assert reserved == {"prod": {"PayoutFunction": 20, "AnnounceFunction": 20, **tens}, "dev": {}}
    mappings = PROD.of_type("AWS::Lambda::EventSourceMapping")
    started = {
        name: each["ScalingConfig"]["MaximumConcurrency"]
        for name, each in mappings.items()
        if "ScalingConfig" in each
    }
    assert started == {
        "PayoutFunctionClaims": reserved["prod"]["PayoutFunction"],
        # The schedules need the other half of this concurrency.
        "TransferFunctionNotices": reserved["prod"]["TransferFunction"] // 2,
        # Webhook receivers can wait, so leave most unreserved concurrency to users' calls.
        "DeliverFunctionMessages": 20,
    }


@each_stack
def test_the_sweeps_of_a_minute_share_all_work_and_end_in_time(stack: Stack) -> None:
    inputs = []
    for rule in stack.of_type("AWS::Events::Rule").values():
        sweeps = [target for target in rule["Targets"] if "Expire" in target["Arn"]]
        inputs += [json.loads(target["Input"]) for target in sweeps]
        # EventBridge accepts at most five targets per rule.
        assert len(rule["Targets"]) <= 5
        assert not sweeps or rule["ScheduleExpression"] == "rate(1 minute)"
    function = stack.of_type("AWS::Lambda::Function")["ExpireFunction"]
    count = int(function["Environment"]["Variables"]["WORK_SHARDS"])
    shards = [range(variable["group"], count, variable["groups"]) for variable in inputs]

    assert sorted(chain(*shards)) == list(range(count))
    assert function["Timeout"] < 60
    assert len(inputs) < function.get("ReservedConcurrentExecutions", len(inputs) + 1)


# ---- retention


@each_stack
def test_a_failed_first_deployment_leaves_nothing_and_a_deleted_stack_keeps_its_money(
    stack: Stack,
) -> None:
    for name, each in stack.resources.items():
        if each["Type"] in {
            "AWS::DynamoDB::Table",
            "AWS::SecretsManager::Secret",
            "AWS::Cognito::UserPool",
        }:
            assert each["DeletionPolicy"] == "RetainExceptOnCreate", name
            assert each["UpdateReplacePolicy"] == "Retain", name


def test_in_prod_users_and_money_are_protected_from_deletion() -> None:
    for stack, is_protected in ((PROD, True), (DEV, False)):
        (pool,) = stack.of_type("AWS::Cognito::UserPool").values()
        tables = stack.of_type("AWS::DynamoDB::Table")
        assert pool["DeletionProtection"] == ("ACTIVE" if is_protected else "INACTIVE")
        for name in ("AccountsTable", "PacketsTable", "SharesTable", "CampaignsTable"):
            assert tables[name]["DeletionProtectionEnabled"] is is_protected


def test_sign_up_is_off_by_default() -> None:
    (closed,) = PROD.of_type("AWS::Cognito::UserPool").values()
    (opened,) = STACK_OF["kept warm, with a canary"].of_type("AWS::Cognito::UserPool").values()

    assert closed["AdminCreateUserConfig"]["AllowAdminCreateUserOnly"] is True
    assert opened["AdminCreateUserConfig"]["AllowAdminCreateUserOnly"] is False
    assert opened["EmailConfiguration"]["EmailSendingAccount"] == "DEVELOPER"
    for pool in (closed, opened):
        assert (pool["MfaConfiguration"], pool["EnabledMfas"]) == (
            "OPTIONAL",
            ["SOFTWARE_TOKEN_MFA"],
        )


def test_only_a_pool_of_operators_requires_a_second_factor() -> None:
    stack = STACK_OF["a page of a given issuer, whose operators are in the pool"]
    (pool,) = stack.of_type("AWS::Cognito::UserPool").values()

    assert (pool["MfaConfiguration"], pool["EnabledMfas"]) == ("ON", ["SOFTWARE_TOKEN_MFA"])


@each_stack
def test_the_access_log_contains_no_path(stack: Stack) -> None:
    (stage,) = stack.of_type("AWS::ApiGatewayV2::Stage").values()
    variables = re.findall(r"\$context\.[A-Za-z.]+", stage["AccessLogSettings"]["Format"])

    # A path may contain a user's host id, and a query may contain search terms.
    assert variables
    assert not [name for name in variables if re.search("path|query|sub|claims|sourceIp", name)]
