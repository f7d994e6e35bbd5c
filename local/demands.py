"""Permissions that a state machine's role needs for its integrations, as AWS documents them.

The local stack checks each task of the state machine for these permissions, and the tests check the
role in every partition.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from local.iam import Access

MACHINE = "ReconcileMachine"

PAGES = {
    "aws-sdk:dynamodb:exportTableToPointInTime": "Requesting a table export in DynamoDB",
    "aws-sdk:dynamodb:describeExport": "Actions, resources, and condition keys for DynamoDB",
    "aws-sdk:glue:createDatabase": "Specifying AWS Glue resource ARNs",
    "aws-sdk:glue:deleteDatabase": (
        "Configure access to databases and tables in the AWS Glue Data Catalog"
    ),
    "athena:startQueryExecution.sync": "Run Athena queries with Step Functions",
    "aws-sdk:cloudwatch:putMetricData": (
        "Using condition keys to limit access to CloudWatch namespaces"
    ),
    "lambda:invoke": "Invoke an AWS Lambda function with Step Functions",
}
"""Titles of the AWS pages that document the permissions, keyed by integration."""


@dataclass(frozen=True, slots=True)
class Place:
    """Partition, Region, and account of a state machine, and its Athena workgroup's bucket."""

    partition: str
    region: str
    account: str
    bucket: str

    def arn(self, service: str, name: str) -> str:
        """Return the ARN of a resource in this account and Region."""
        return f"arn:{self.partition}:{service}:{self.region}:{self.account}:{name}"

    def object(self, key: str) -> str:
        """Return the ARN of an object in the bucket."""
        return f"arn:{self.partition}:s3:::{self.bucket}/{key}"


def demands(integration: str, arguments: dict[str, Any], place: Place) -> list[Access]:
    """Return the permissions that a call to an integration requires."""
    return list(_DEMANDS[integration](arguments, place))


def _right(action: str, resource: str, namespace: str = "") -> Access:
    return Access(MACHINE, action, resource, namespace=namespace)


def integration_of(resource: str, partition: str) -> str:
    """Return the integration in a task's resource ARN. Raises ValueError for other partitions."""
    stem = f"arn:{partition}:states:::"
    if not resource.startswith(stem):
        raise ValueError(f"{resource} belongs to another partition than {partition}")
    return resource.removeprefix(stem)


def _export(arguments: dict[str, Any], place: Place) -> Iterator[Access]:
    yield _right("dynamodb:ExportTableToPointInTime", arguments["TableArn"])
    written = place.object(f"{arguments['S3Prefix']}/AWSDynamoDB/data/0.json.gz")
    for action in ("AbortMultipartUpload", "PutObject", "PutObjectAcl"):
        yield _right(f"s3:{action}", written)


def _describe(arguments: dict[str, Any], _: Place) -> Iterator[Access]:
    yield _right("dynamodb:DescribeExport", arguments["ExportArn"])


def _catalog(actions: str, names: list[str], place: Place) -> Iterator[Access]:
    """Yield each Glue action on the catalog and on all *names*."""
    for action in actions.split():
        for name in ["catalog", *names]:
            yield _right(f"glue:{action}", place.arn("glue", name))


def _create(arguments: dict[str, Any], place: Place) -> Iterator[Access]:
    yield from _catalog("CreateDatabase", [f"database/{arguments['DatabaseInput']['Name']}"], place)


def _delete(arguments: dict[str, Any], place: Place) -> Iterator[Access]:
    # "The database, the catalog … and all the tables and user defined functions".
    name = arguments["Name"]
    names = [f"database/{name}", f"table/{name}/any", f"userDefinedFunction/{name}/any"]
    yield from _catalog("DeleteDatabase", names, place)


def _query(arguments: dict[str, Any], place: Place) -> Iterator[Access]:
    for action in ("StartQueryExecution", "StopQueryExecution", "GetQueryExecution"):
        yield _right(f"athena:{action}", place.arn("athena", f"workgroup/{arguments['WorkGroup']}"))
    yield _right("athena:GetDataCatalog", place.arn("athena", "datacatalog/AwsDataCatalog"))
    # "You must specify the default database", regardless of the database in the query.
    yield from _catalog("GetDatabase", ["database/default"], place)
    sql, database = arguments["QueryString"], arguments["QueryExecutionContext"]["Database"]
    if sql.startswith("CREATE OR REPLACE VIEW "):
        database, actions = sql.split(" ")[4].partition(".")[0], "CreateTable UpdateTable"
    else:
        actions = "CreateTable DeleteTable" if sql.startswith("CREATE ") else ""
    read = "GetDatabase GetTable GetTables GetPartitions"
    yield from _catalog(
        f"{read} {actions}", [f"database/{database}", f"table/{database}/any"], place
    )
    for action in ("GetBucketLocation", "ListBucket", "ListBucketMultipartUploads"):
        yield _right(f"s3:{action}", place.object("").rstrip("/"))
    for action in ["GetObject", "PutObject", "AbortMultipartUpload", "ListMultipartUploadParts"]:
        yield _right(f"s3:{action}", place.object("results/any"))


def _count(arguments: dict[str, Any], _: Place) -> Iterator[Access]:
    yield _right("cloudwatch:PutMetricData", "*", arguments["Namespace"])


def _invoke(arguments: dict[str, Any], _: Place) -> Iterator[Access]:
    yield _right("lambda:InvokeFunction", arguments["FunctionName"])


_DEMANDS: dict[str, Callable[[dict[str, Any], Place], Iterator[Access]]] = {
    "aws-sdk:dynamodb:exportTableToPointInTime": _export,
    "aws-sdk:dynamodb:describeExport": _describe,
    "aws-sdk:glue:createDatabase": _create,
    "aws-sdk:glue:deleteDatabase": _delete,
    "athena:startQueryExecution.sync": _query,
    "aws-sdk:cloudwatch:putMetricData": _count,
    "lambda:invoke": _invoke,
}
