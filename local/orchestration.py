"""Local Athena on DuckDB, and the tasks of the local state machine.

The emulator runs the state machine's definition, and sends each task to this server. The server
rejects a task if the machine's role lacks a permission that AWS requires. The emulator's exports
write no files, so `AWS_ENDPOINT_URL_ATHENA` points the reconcile function to this server, which
behaves like Athena.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import threading
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar, TypeAlias

import boto3
import duckdb
from botocore.config import Config
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from local import alarms
from local.demands import Place, demands, integration_of
from local.deploy import STACK_NAME
from local.iam import allows
from local.ports import HOST
from local.serving import serve
from local.warehouse import Duck, Rows, export, export_changes
from redpacket.reconciliation.ports import Found
from redpacket.reconciliation.use_cases.statements import Run, tables

Answer: TypeAlias = "dict[str, Any]"

_FUNCTION_S_MAX = 900
"""Longest timeout of a Lambda function in seconds."""


class TaskError(Exception):
    """Task error with the name that the state machine's Retry and Catch match."""

    def __init__(self, error: str, cause: str) -> None:
        super().__init__(cause)
        self.error = error


class Orchestration:
    """Athena queries and state machine tasks of one stack."""

    def __init__(
        self,
        aws: Callable[[str], Any],
        outputs: dict[str, str],
        machine: Callable[[], Machine],
        folder: Path,
    ) -> None:
        self._aws, self._outputs, self._machine = aws, outputs, cache(machine)
        self._folder = folder
        self._lock = threading.RLock()
        self._snapshots: dict[str, dict[str, Rows]] = {}
        """Rows of all tables, keyed by export time; incremental exports compare two of these."""
        self._exports: dict[str, Answer] = {}
        """Export descriptions, keyed by ARN."""
        self._databases: dict[str, str] = {}
        """Export times, keyed by database."""
        self._ducks: dict[str, Duck] = {}
        self._reports: Duck | None = None
        """DuckDB with the last successful run, from which reports are read."""
        self._queries: dict[str, Found | str] = {}
        """Rows or error of each query, keyed by query id."""

    def run_task(self, resource: str, arguments: Answer) -> Answer:
        """Call an integration if the machine's role has the permissions. Raises TaskError."""
        machine = self._machine()
        integration = integration_of(resource, machine.place.partition)
        for access in demands(integration, arguments, machine.place):
            if not any(allows(statement, access) for statement in machine.statements):
                service = integration.removeprefix("aws-sdk:").partition(":")[0].capitalize()
                raise TaskError(
                    f"{service}.AccessDeniedException", f"the role has no right: {access}"
                )
        return self._tasks[integration](self, arguments)

    def start_query_execution(self, request: Answer) -> Answer:
        """Run a query immediately."""
        sql, database = request["QueryString"], request["QueryExecutionContext"]["Database"]
        is_report = database == self._outputs["ReportsDatabase"]
        with self._lock:
            query_id = f"query-{len(self._queries)}"
            try:
                duck = self._reports if is_report else self._ducks.get(database)
                self._queries[query_id] = self._ask(sql, duck)
            except duckdb.Error as error:
                self._queries[query_id] = str(error)
        return {"QueryExecutionId": query_id}

    def get_query_execution(self, request: Answer) -> Answer:
        """Return a query's state, with the error if it failed."""
        query = self._queries[request["QueryExecutionId"]]
        failed = {"State": "FAILED", "StateChangeReason": query}
        status = failed if isinstance(query, str) else {"State": "SUCCEEDED"}
        return {"QueryExecution": {"Status": status, **request}}

    def get_query_results(self, request: Answer) -> Answer:
        """Return all rows, preceded by a row with the column names."""
        rows = self._queries[request["QueryExecutionId"]]
        data = [
            {"Data": [{} if cell is None else {"VarCharValue": cell} for cell in row]}
            for row in rows
        ]
        return {"ResultSet": {"Rows": data}}

    def _ask(self, sql: str, duck: Duck | None) -> Found:
        if external := re.search(r"^CREATE EXTERNAL TABLE .* LOCATION '(.*)'$", sql):
            # `_read` has already loaded the files.
            if external[1] not in {each["Place"] for each in self._exports.values()}:
                raise duckdb.Error(f"no export wrote {external[1]}")
            return [()]
        if not duck:
            raise duckdb.Error("no run has ended well")
        if sql.startswith("CREATE OR REPLACE VIEW "):
            duck.rows(f"CREATE SCHEMA IF NOT EXISTS {self._outputs['ReportsDatabase']}")
            self._reports = duck
        return duck.named_rows(sql)

    def _query(self, arguments: Answer) -> Answer:
        """Run a query as `startQueryExecution.sync` does."""
        answer = self.get_query_execution(self.start_query_execution(arguments))
        if reason := answer["QueryExecution"]["Status"].get("StateChangeReason"):
            raise TaskError("States.TaskFailed", reason)
        return answer

    def _export(self, arguments: Answer) -> Answer:
        """Export a table's current rows as the snapshot of the requested time."""
        changes = arguments.get("IncrementalExportSpecification", {})
        until = changes.get("ExportToTime") or arguments["ExportTime"]
        _, database, table = arguments["S3Prefix"].split("/")
        arn = f"{arguments['TableArn']}/export/{arguments['ClientToken'][:16]}"
        place = f"s3://{arguments['S3Bucket']}/{arguments['S3Prefix']}/AWSDynamoDB/"
        with self._lock:
            self._databases[database] = until
            if until not in self._snapshots:
                self._snapshots[until] = {name: self._scan(name) for name in tables()}
            rows, folder = self._snapshots[until][table], Path(self._folder, database, table)
            if arn not in self._exports and changes:
                before = self._snapshots.get(changes["ExportFromTime"])
                if before is None:
                    raise TaskError("DynamoDb.InvalidExportTimeException", "no such snapshot")
                count, place = export_changes(folder, before[table], rows), f"{place}data/"
            elif arn not in self._exports:
                count = export(folder, rows.values())
                place = f"{place}{arn.rpartition('/')[2]}/data/"
            if arn not in self._exports:
                described = {"ExportArn": arn, "ExportStatus": "COMPLETED", "ItemCount": count}
                self._exports[arn] = {**described, "Place": place}
        return {"ExportDescription": self._exports[arn]}

    def _describe(self, arguments: Answer) -> Answer:
        return {"ExportDescription": self._exports[arguments["ExportArn"]]}

    def _create(self, arguments: Answer) -> Answer:
        assert arguments["DatabaseInput"]["Name"] in self._databases
        return {}

    def _drop(self, arguments: Answer) -> Answer:
        database = arguments["Name"]
        with self._lock:
            until = self._databases.pop(database, None)
            if until is None:
                raise TaskError("Glue.EntityNotFoundException", database)
            if until not in self._databases.values():
                self._snapshots.pop(until, None)
            if duck := self._ducks.pop(database, None):
                duck.rows(f"DROP SCHEMA IF EXISTS {database} CASCADE")
        return {}

    def _invoke(self, arguments: Answer) -> Answer:
        event = arguments["Payload"]
        answer = self._aws("lambda").invoke(
            FunctionName=arguments["FunctionName"], Payload=json.dumps(event).encode()
        )
        told: Answer = json.loads(answer["Payload"].read())
        if "FunctionError" in answer:
            raise TaskError(told.get("errorType", "Lambda.Unknown"), json.dumps(told))
        if "places" in event:
            self._read(event)
        return {"StatusCode": 200, "Payload": told}

    def _read(self, event: Answer) -> None:
        """Load a run's exported files before its queries run."""
        database, exported = event["database"], event["export"]
        run = Run(event["run_id"], exported["exported_at_ms"], base=exported["base"])
        folder = Path(self._folder, database)
        with self._lock:
            before = next(reversed(self._ducks.values()), None)
            self._ducks[database] = Duck(folder, run, database, before)
            shutil.rmtree(folder)

    def _count(self, arguments: Answer) -> Answer:
        self._aws("cloudwatch").put_metric_data(**arguments)
        return {}

    def _scan(self, table: str) -> Rows:
        pages = self._aws("dynamodb").get_paginator("scan")
        name = self._outputs[f"{table.capitalize()}Table"]
        return {
            (row["pk"]["S"], row.get("sk", {"S": ""})["S"]): row
            for page in pages.paginate(TableName=name, ConsistentRead=True)
            for row in page["Items"]
        }

    _tasks: ClassVar[dict[str, Callable[[Orchestration, Answer], Answer]]] = {
        "aws-sdk:cloudwatch:putMetricData": _count,
        "aws-sdk:dynamodb:describeExport": _describe,
        "aws-sdk:dynamodb:exportTableToPointInTime": _export,
        "aws-sdk:glue:createDatabase": _create,
        "aws-sdk:glue:deleteDatabase": _drop,
        "athena:startQueryExecution.sync": _query,
        "lambda:invoke": _invoke,
    }


@dataclass(frozen=True, slots=True)
class Machine:
    """Place of the deployed state machine, and the statements of its role."""

    place: Place
    statements: list[dict[str, Any]]


def deployed(aws: Callable[[str], Any]) -> Machine:
    """Return the stack's state machine."""
    cloud = aws("cloudformation")
    arn, bucket = (
        cloud.describe_stack_resource(StackName=STACK_NAME, LogicalResourceId=name)[
            "StackResourceDetail"
        ]["PhysicalResourceId"]
        for name in ("ReconcileMachine", "ExportBucket")
    )
    _, partition, _, region, account, *_ = arn.split(":")
    role = aws("stepfunctions").describe_state_machine(stateMachineArn=arn)["roleArn"]
    given = {"RoleName": role.rpartition("/")[2]}
    iam = aws("iam")
    documents = [
        iam.get_role_policy(PolicyName=name, **given)["PolicyDocument"]
        for name in iam.list_role_policies(**given)["PolicyNames"]
    ]
    statements = [statement for each in documents for statement in each["Statement"]]
    return Machine(Place(partition, region, account, bucket), statements)


def application(orchestration: Orchestration) -> Starlette:
    """Return a web application that serves Athena and the state machine's tasks."""

    def query(target: str, request: Answer) -> Response:
        name = "".join(
            f"_{character.lower()}" if character.isupper() else character for character in target
        ).lstrip("_")
        return JSONResponse(getattr(orchestration, name)(request))

    async def answer(request: Request) -> Response:
        target = request.headers["x-amz-target"].rpartition(".")[2]
        return await run_in_threadpool(query, target, json.loads(await request.body()))

    def task(asked: Answer) -> Response:
        try:
            result = orchestration.run_task(asked["resource"], asked["arguments"])
        except TaskError as error:
            return JSONResponse({"error": error.error, "cause": str(error)})
        except Exception as error:  # noqa: BLE001 - the machine's Retry and Catch are for all
            traceback.print_exc()
            return JSONResponse({"error": "States.TaskFailed", "cause": str(error)})
        return JSONResponse({"result": result})

    async def run(request: Request) -> Response:
        return await run_in_threadpool(task, json.loads(await request.body()))

    return Starlette(
        routes=[
            Route("/", answer, methods=["POST"]),
            Route("/tasks", run, methods=["POST"]),
        ]
    )


def clients_of(url: str) -> Callable[[str], Any]:
    """Return a function that creates clients of the emulator at *url*.

    Like Step Functions, they wait for a function until it times out.
    """
    session = boto3.session.Session("test", "test", region_name="us-east-1")
    config = Config(read_timeout=_FUNCTION_S_MAX)
    return partial(session.client, endpoint_url=url, config=config)


def main() -> None:
    """Serve until the process is stopped."""
    arguments = argparse.ArgumentParser(description=__doc__)
    for name in ("--port", "--emulator-port"):
        arguments.add_argument(name, type=int, required=True)
    arguments.add_argument("--outputs", type=json.loads, required=True)
    arguments.add_argument("--with-alarms", action="store_true")
    given = arguments.parse_args()
    aws = clients_of(f"http://{HOST}:{given.emulator_port}")
    if given.with_alarms:
        alarms.start(aws, given.outputs)
    with TemporaryDirectory() as folder:
        tasks = Orchestration(aws, given.outputs, partial(deployed, aws), Path(folder))
        serve(application(tasks), given.port)


if __name__ == "__main__":
    main()
