"""Permissions that AWS documents for each integration, compared with our roles in each partition.

The docstring of each check in ROWS names the documentation pages that it follows. EventBridge
Scheduler is missing, because the template uses rules.
"""

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from local.demands import MACHINE, PAGES, Place, demands, integration_of
from local.places import ROOT
from tests.template.iam import Access, may, statements
from tests.template.translated import ACCOUNT, STACK_UUID, STACKS, Stack, partition_of

each_stack = pytest.mark.parametrize("stack", STACKS, ids=lambda stack: stack.name)

DATABASE = f"redpacket_{STACK_UUID.replace('-', '_')}_0123_1"
REPORTS = f"redpacket_{STACK_UUID.replace('-', '_')}_reports"


# ---- the state machine


def definition(stack: Stack) -> dict[str, Any]:
    """Return the state machine's definition with all substitutions, as Step Functions gets it."""
    machine = stack.of_type("AWS::StepFunctions::StateMachine")[MACHINE]
    text = str(machine["DefinitionString"])
    for name, value in machine["DefinitionSubstitutions"].items():
        text = text.replace(f"${{{name}}}", str(value))
    made: dict[str, Any] = json.loads(text)
    return made


def _states(states: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for name, state in states.items():
        yield name, state
        yield from _states(state.get("ItemProcessor", {}).get("States", {}))


def _calls(stack: Stack) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each integration, with the arguments of an example call."""
    tables = definition(stack)["States"]["ExportTables"]["Items"]
    for each in tables:
        export = {"TableArn": each["arn"], "S3Prefix": f"exports/{DATABASE}/{each['table']}"}
        yield "aws-sdk:dynamodb:exportTableToPointInTime", export
        yield "aws-sdk:dynamodb:describeExport", {"ExportArn": f"{each['arn']}/export/01-a"}
    yield "aws-sdk:glue:createDatabase", {"DatabaseInput": {"Name": DATABASE}}
    yield "aws-sdk:glue:deleteDatabase", {"Name": DATABASE}
    for sql in ("CREATE TABLE a AS SELECT 1", f"CREATE OR REPLACE VIEW {REPORTS}.a AS SELECT 1"):
        about = {"Database": DATABASE}
        work_group = stack.ref("ReconcileWorkGroup")
        query = {"QueryString": sql, "WorkGroup": work_group, "QueryExecutionContext": about}
        yield "athena:startQueryExecution.sync", query
    namespace = definition(stack)["States"]["CountLeft"]["Arguments"]["Namespace"]
    yield "aws-sdk:cloudwatch:putMetricData", {"Namespace": namespace}
    function = definition(stack)["States"]["Plan"]["Arguments"]["FunctionName"]
    yield "lambda:invoke", {"FunctionName": function}


@each_stack
def test_the_role_of_the_machine_has_exactly_the_rights_that_each_integration_demands(
    stack: Stack,
) -> None:
    bucket = stack.ref("ExportBucket")
    place = Place(partition_of(stack.region), stack.region, ACCOUNT, bucket)
    resources = [
        state["Resource"]
        for _, state in _states(definition(stack)["States"])
        if state["Type"] == "Task"
    ]

    used = {integration_of(resource, place.partition) for resource in resources}
    demanded = [
        (integration, access)
        for integration, arguments in _calls(stack)
        for access in demands(integration, arguments, place)
    ]
    refused = [
        f"{access}: {PAGES[integration]}"
        for integration, access in demanded
        if not may(stack, access)
    ]

    assert used == set(PAGES) == {integration for integration, _ in _calls(stack)}
    assert refused == []
    granted = {action for each in statements(stack, MACHINE) for action in each["Action"]}
    assert granted == {access.action for _, access in demanded}


def test_repeatable_tasks_are_retried_and_an_export_is_made_once() -> None:
    tasks = {
        name: state
        for name, state in _states(definition(STACKS[0])["States"])
        if state["Type"] == "Task"
    }

    retried = {name for name, state in tasks.items() if "Retry" in state}
    assert set(tasks) - retried == {"CreateDatabase", "CountLeft"}
    for name in ("Export", "ExportChanges"):
        assert "$database" in tasks[name]["Arguments"]["ClientToken"]


# ---- calls between services


def _rule_targets(stack: Stack) -> Iterator[tuple[str, dict[str, Any]]]:
    for name, rule in stack.of_type("AWS::Events::Rule").items():
        for target in rule["Targets"]:
            yield name, target


def _permissions(stack: Stack) -> set[tuple[str, str, str]]:
    return {
        (each["Principal"], each["FunctionName"], str(each.get("SourceArn", "")))
        for each in stack.of_type("AWS::Lambda::Permission").values()
        if each["Action"] == "lambda:InvokeFunction"
    }


def _rules(stack: Stack) -> Iterator[tuple[str, bool]]:
    """EventBridge User Guide, "Using resource-based policies": the function's policy allows the
    call.

    "Using identity-based policies": all other targets have a role.
    """
    for name, target in _rule_targets(stack):
        if "RoleArn" in target:
            role = stack.of_type("AWS::IAM::Role")[f"{MACHINE}EveryNightRole"]
            statement = role["Policies"][0]["PolicyDocument"]["Statement"][0]
            yield f"{name} starts the machine", "states:StartExecution" in statement["Action"]
        else:
            wanted = ("events.amazonaws.com", target["Arn"], stack.arn(name))
            yield f"{name} invokes {target['Id']}", wanted in _permissions(stack)


def _function_of(mapping: dict[str, Any]) -> str:
    alias = str(mapping["FunctionName"]).rpartition(":")[2]
    return alias.removeprefix(stack_prefix()).removesuffix("Aliaslive")


def stack_prefix() -> str:
    """Return the prefix of the physical names in every test stack."""
    return STACKS[0].physical("")


_QUEUE = "sqs:ReceiveMessage sqs:DeleteMessage sqs:GetQueueAttributes"
_STREAM = "dynamodb:DescribeStream dynamodb:GetRecords dynamodb:GetShardIterator"


def _sources(stack: Stack) -> Iterator[tuple[str, bool]]:
    """Lambda Developer Guide, "Execution role permissions" lists these permissions for queues and
    for DynamoDB streams.

    "Configuring destinations for failed invocations": the function's role must allow sending to the
    queue.
    """
    for name, mapping in stack.of_type("AWS::Lambda::EventSourceMapping").items():
        function, source = _function_of(mapping), mapping["EventSourceArn"]
        for action in (_QUEUE if ":sqs:" in source else _STREAM).split():
            yield f"{name} {action}", may(stack, Access(function, action, source))
        if ":sqs:" not in source:
            table = source.removeprefix(stack.physical("")).removesuffix(".StreamArn")
            listed = Access(function, "dynamodb:ListStreams", f"{stack.arn(table)}/stream/*")
            yield f"{name} dynamodb:ListStreams", may(stack, listed)
        if failed := mapping.get("DestinationConfig", {}).get("OnFailure"):
            sent = Access(function, "sqs:SendMessage", failed["Destination"])
            yield f"{name} sqs:SendMessage", may(stack, sent)


def _signing(stack: Stack) -> Iterator[tuple[str, bool]]:
    """KMS Developer Guide, "AWS KMS permissions": Sign and GetPublicKey are allowed on a key."""
    for action in ("kms:Sign", "kms:GetPublicKey"):
        yield action, may(stack, Access("LogFunction", action, stack.arn("LogKey")))


def _pools(stack: Stack) -> Iterator[tuple[str, bool]]:
    """Cognito Developer Guide, "Customizing user pool workflows with Lambda triggers"."""
    for name, pool in stack.of_type("AWS::Cognito::UserPool").items():
        for trigger, function in pool.get("LambdaConfig", {}).items():
            arn = function if isinstance(function, str) else function["LambdaArn"]
            wanted = ("cognito-idp.amazonaws.com", arn, stack.arn(name))
            allowed = {
                (who, called if called.startswith("arn:") else stack.arn("GroupScopes"), source)
                for who, called, source in _permissions(stack)
            }
            yield f"{name} {trigger}", wanted in allowed


def _origins(stack: Stack) -> Iterator[tuple[str, bool]]:
    """CloudFront Developer Guide, "Restrict access to an Amazon S3 origin"."""
    for name in stack.of_type("AWS::CloudFront::Distribution"):
        distribution = (
            f"arn:{partition_of(stack.region)}:cloudfront::{ACCOUNT}:distribution/{stack.ref(name)}"
        )
        policy = stack.of_type("AWS::S3::BucketPolicy")["PageBucketPolicy"]["PolicyDocument"]
        (granted,) = [each for each in policy["Statement"] if each["Effect"] == "Allow"]
        assert granted["Principal"] == {"Service": "cloudfront.amazonaws.com"}
        yield f"{name} s3:GetObject", granted["Action"] == "s3:GetObject"
        sources = {value.lower() for value in granted["Condition"]["StringEquals"].values()}
        yield f"{name} AWS:SourceArn", sources == {distribution.lower()}


def _network(stack: Stack) -> Iterator[tuple[str, bool]]:
    """Lambda Developer Guide, "Giving Lambda functions access to resources in an Amazon VPC"."""
    wanted = (
        f"arn:{partition_of(stack.region)}:iam::aws:policy/service-role/"
        "AWSLambdaVPCAccessExecutionRole"
    )
    for name, function in stack.of_type("AWS::Lambda::Function").items():
        if "VpcConfig" in function:
            role = stack.of_type("AWS::IAM::Role")[f"{name}Role"]
            yield f"{name} in the VPC", wanted in role["ManagedPolicyArns"]


ROWS: list[Callable[[Stack], Iterator[tuple[str, bool]]]] = [
    _rules,
    _sources,
    _signing,
    _pools,
    _origins,
    _network,
]


@each_stack
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.__name__.strip("_"))
def test_demanded_rights_are_granted(
    stack: Stack, row: Callable[[Stack], Iterator[tuple[str, bool]]]
) -> None:
    assert [name for name, is_granted in row(stack) if not is_granted] == []


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.__name__.strip("_"))
def test_each_page_demands_at_least_one_right(
    row: Callable[[Stack], Iterator[tuple[str, bool]]],
) -> None:
    assert any(list(row(stack)) for stack in STACKS)


def test_policies_and_commands_outside_the_template_name_every_partition() -> None:
    paths = [*(ROOT / ".github").glob("*.json"), *(ROOT / "docs").rglob("*.md")]
    texts = [path.read_text(encoding="utf-8") for path in paths]

    assert len(texts) > 50
    assert [arn for text in texts for arn in re.findall(r"arn:aws:[\w:*-]+", text)] == []
