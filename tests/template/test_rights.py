"""Permissions that no local run exercises: for the cache, the gateways' keys, and Athena."""

from collections.abc import Iterator
from typing import Any

from tests.template import translated

STACKS = [
    translated.STACK_OF[name]
    # The last two stacks sign in to their caches with a password and by IAM.
    for name in ("both gateways", "a cache with a password", "a serverless cache by IAM")
]

GRANTED = """
CacheReadSignIn.SignIn: elasticache:Connect
CacheSignIn.ReadPassword: secretsmanager:GetSecretValue
CacheSignIn.SignIn: elasticache:Connect
GatewayKeys.ReadGatewayKeys: secretsmanager:GetSecretValue
ReconcileFunctionRole.AskAthena: athena:GetQueryExecution athena:GetQueryResults \
athena:StartQueryExecution
ReconcileFunctionRole.FindDefault: glue:GetDatabase
ReconcileFunctionRole.FindExports: s3:GetBucketLocation s3:ListBucket
ReconcileFunctionRole.ReadExports: s3:GetObject
ReconcileFunctionRole.ReadRunTables: glue:CreateTable glue:GetDatabase glue:GetPartitions \
glue:GetTable glue:GetTables
ReconcileFunctionRole.WriteResults: s3:AbortMultipartUpload s3:PutObject
ReadReports.AskAthena: athena:GetQueryExecution athena:GetQueryResults athena:StartQueryExecution
ReadReports.FindDefault: glue:GetDatabase
ReadReports.FindExports: s3:GetBucketLocation s3:ListBucket
ReadReports.FindOutputs: cloudformation:DescribeStacks
ReadReports.ReadTables: glue:GetDatabase glue:GetPartitions glue:GetTable glue:GetTables
ReadReports.ReadTypedRows: s3:GetObject
ReadReports.WriteResults: s3:AbortMultipartUpload s3:PutObject
"""


def _statements(stack: translated.Stack) -> Iterator[tuple[str, dict[str, Any]]]:
    for name, resource in stack.pruned["Resources"].items():
        given = resource.get("Properties", {})
        if resource["Type"] == "AWS::IAM::Role":
            documents = [policy["PolicyDocument"] for policy in given.get("Policies", [])]
        elif resource["Type"] == "AWS::IAM::ManagedPolicy":
            documents = [given["PolicyDocument"]]
        else:
            continue
        for document in documents:
            for statement in document["Statement"]:
                yield f"{name}.{statement.get('Sid')}", statement


def test_no_policy_allows_an_action_on_all_resources() -> None:
    statements = [named for stack in STACKS for named in _statements(stack)]

    assert len(statements) > 100
    # IAM can't limit metric actions to a resource. A condition limits CountLeft's writes to the
    # stack's namespace.
    assert {name for name, statement in statements if "*" in statement["Resource"]} == {
        "AdminFunctionRole.CountRefusals",
        "ReconcileMachineRole.CountLeft",
    }


def test_the_rights_that_no_local_run_exercises_are_listed() -> None:
    rights: dict[str, str] = {}
    for stack in STACKS:
        for name, statement in _statements(stack):
            actions = statement["Action"]
            rights[name] = actions if isinstance(actions, str) else " ".join(sorted(actions))

    expected = dict(line.split(": ", 1) for line in GRANTED.strip().splitlines())
    assert {name: rights.get(name) for name in expected} == expected


def test_operators_read_typed_rows_and_cannot_write_the_rows_that_reconciliation_reads() -> None:
    stack = STACKS[0]
    groups = {
        name: group["WorkGroupConfiguration"]["ResultConfiguration"]["OutputLocation"]
        for name, group in stack.of_type("AWS::Athena::WorkGroup").items()
    }
    policy = stack.of_type("AWS::IAM::ManagedPolicy")["ReadReports"]["PolicyDocument"]
    places: dict[str, set[str]] = {}
    for statement in policy["Statement"]:
        resources = statement["Resource"]
        for action in statement["Action"]:
            named = [resources] if isinstance(resources, str) else resources
            places.setdefault(action, set()).update(named)

    bucket = stack.ref("ExportBucket")
    place = f"arn:aws:s3:::{bucket}"
    assert groups == {
        "ReconcileWorkGroup": f"s3://{bucket}/results/",
        "ReportsWorkGroup": f"s3://{bucket}/reports/",
    }
    assert places["s3:GetObject"] == {f"{place}/results/tables/*", f"{place}/reports/*"}
    assert places["s3:PutObject"] == {f"{place}/reports/*"}
    (group,) = places["athena:StartQueryExecution"]
    assert group.endswith(f":workgroup/{stack.ref('ReportsWorkGroup')}")
    for query in stack.of_type("AWS::Athena::NamedQuery").values():
        assert query["WorkGroup"] == stack.ref("ReportsWorkGroup")
