"""Step Functions and Athena of the local stack: exports of its tables, compared in DuckDB.

The emulator's own exports write no files. `AWS_ENDPOINT_URL_SFN` and `AWS_ENDPOINT_URL_ATHENA` lead
the reconcile function here, which does not know the difference.
"""

from __future__ import annotations

import argparse
import json
import threading
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import boto3
import duckdb
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from local import alarms
from local.ports import HOST
from local.serving import serve
from local.warehouse import Duck, Rows, export, export_changes
from redpacket.reconciliation.ports import Found
from redpacket.reconciliation.use_cases.statements import Run, tables

BETWEEN_LOOKS_S = 2.0
"""Seconds until a transaction is complete; on AWS, minutes."""

Answer = dict[str, Any]


class Orchestration:
    """Executions and queries of one stack."""

    def __init__(self, aws: Callable[[str], Any], outputs: dict[str, str]) -> None:
        self._aws, self._outputs = aws, outputs
        self._executions: dict[str, Answer] = {}
        self._queries: dict[str, Found | str] = {}
        """Rows by query, or the error."""
        self._duck: Duck | None = None
        self._reports: Duck | None = None
        """Rows of the last good run."""
        self._states: dict[str, dict[str, Rows]] = {}
        """Exported rows by database and table, of which an increment is the difference."""

    def start_execution(self, request: Answer) -> Answer:
        """Start a run beside all others."""
        name = request["name"]
        self._executions[name] = {"name": name, "status": "RUNNING", "state": "Begin"}
        threading.Thread(target=self._run, args=(name,), daemon=True).start()
        return {"executionArn": name, "startDate": time.time()}

    def describe_execution(self, request: Answer) -> Answer | None:
        """Return an execution, or None."""
        return self._executions.get(request["executionArn"].rpartition(":")[2])

    def list_executions(self, request: Answer) -> Answer:
        """Return the executions of a status, newest first."""
        executions = [
            execution
            for execution in self._executions.values()
            if execution["status"] == request["statusFilter"]
        ]
        return {"executions": executions[::-1]}

    def get_execution_history(self, request: Answer) -> Answer:
        """Return the state that an execution has entered."""
        state = self._executions[request["executionArn"].rpartition(":")[2]]["state"]
        return {"events": [{"stateEnteredEventDetails": {"name": state}}]}

    def start_query_execution(self, request: Answer) -> Answer:
        """Run a query at once."""
        is_report = request["QueryExecutionContext"]["Database"] == self._outputs["ReportsDatabase"]
        duck = self._reports if is_report else self._duck
        try:
            query_id = self._ask(request["QueryString"], duck)
        except duckdb.Error as error:
            query_id = f"query-{len(self._queries)}"
            self._queries[query_id] = str(error)
        return {"QueryExecutionId": query_id}

    def get_query_execution(self, request: Answer) -> Answer:
        """Return a query's success or error."""
        query = self._queries[request["QueryExecutionId"]]
        failed = {"State": "FAILED", "StateChangeReason": query}
        status = failed if isinstance(query, str) else {"State": "SUCCEEDED"}
        return {"QueryExecution": {"Status": status}}

    def get_query_results(self, request: Answer) -> Answer:
        """Return all rows, after a row for the names of the columns."""
        rows = self._queries[request["QueryExecutionId"]]
        data = [
            {"Data": [{} if cell is None else {"VarCharValue": cell} for cell in row]}
            for row in rows
        ]
        return {"ResultSet": {"Rows": data}}

    def _ask(self, sql: str, duck: Duck | None) -> str:
        if not duck:
            raise duckdb.Error("no run has ended well")
        query_id = f"query-{len(self._queries)}"
        self._queries[query_id] = duck.named_rows(sql)
        return query_id

    def _run(self, name: str) -> None:
        execution = self._executions[name]
        for look, is_full in ((1, False), (3, True)):
            try:
                result = self._look(name, look, None, is_full=is_full)
                if result["differences"]:
                    time.sleep(BETWEEN_LOOKS_S)
                    result = self._look(name, look + 1, result, is_full=is_full)
            except Exception:  # noqa: BLE001 - the state machine catches everything, too
                traceback.print_exc()
            else:
                execution.update(status="SUCCEEDED", output=json.dumps(result))
                return
        execution["status"] = "FAILED"

    def _look(self, name: str, look: int, first: Answer | None, *, is_full: bool) -> Answer:
        database = f"redpacket_local_{name.replace('-', '_')}_{look}"
        about = {"run_id": name, "database": database, "first": first}
        execution, reports = self._executions[name], self._outputs["ReportsDatabase"]
        asked_at_ms = time.time_ns() // 1_000_000
        # Its own exports need no quarter of an hour between two of them.
        limits = {"window_min_ms": 0, "is_full": is_full}
        export_plan = self._invoke({**about, "asked_at_ms": asked_at_ms, **limits})
        about["export"], base = export_plan, export_plan["base"]
        with TemporaryDirectory() as folder:
            execution["state"] = "ExportTables"
            self._states[database] = {table: self._scan(table) for table in tables()}
            item_counts = {
                table: export_changes(Path(folder, table), self._states[base][table], rows)
                if base
                else export(Path(folder, table), rows.values())
                for table, rows in self._states[database].items()
            }
            places = [
                {"table": table, "place": table, "item_count": count}
                for table, count in item_counts.items()
            ]
            planned = self._invoke({**about, "places": places, "reports": reports})
            run = Run(name, export_plan["exported_at_ms"], base=base)
            self._duck = duck = Duck(Path(folder), run, database, self._duck)
        _, *batches = planned["batches"]
        execution["state"] = "AskBatches"
        submitted = [
            [{"name": query["name"], "query_id": self._ask(query["sql"], duck)} for query in batch]
            for batch in batches
        ]
        execution["state"] = "Judge"
        answer = self._invoke({**about, "queries": submitted[-1]})
        for view in ({"sql": f"CREATE SCHEMA IF NOT EXISTS {reports}"}, *planned["views"]):
            duck.rows(view["sql"])
        self._reports = duck
        for stale in answer["stale"] + ([first["database"]] if first else []):
            duck.rows(f"DROP SCHEMA IF EXISTS {stale} CASCADE")
            self._states.pop(stale, None)
        return answer

    def _scan(self, table: str) -> Rows:
        pages = self._aws("dynamodb").get_paginator("scan")
        name = self._outputs[f"{table.capitalize()}Table"]
        return {
            (row["pk"]["S"], row.get("sk", {"S": ""})["S"]): row
            for page in pages.paginate(TableName=name, ConsistentRead=True)
            for row in page["Items"]
        }

    def _invoke(self, event: Answer) -> Answer:
        answer = self._aws("lambda").invoke(
            FunctionName=self._outputs["ReconcileFunction"], Payload=json.dumps(event).encode()
        )
        told: Answer = json.loads(answer["Payload"].read())
        if "FunctionError" in answer:
            raise RuntimeError(str(told))
        return told


def application(orchestration: Orchestration) -> Starlette:
    """Return both services as a web application."""

    def call(target: str, request: Answer) -> Response:
        name = "".join(
            f"_{character.lower()}" if character.isupper() else character for character in target
        ).lstrip("_")
        answer = getattr(orchestration, name)(request)
        if answer is None:
            return JSONResponse({"__type": "ExecutionDoesNotExist"}, status_code=400)
        return JSONResponse(answer)

    async def answer(request: Request) -> Response:
        target = request.headers["x-amz-target"].rpartition(".")[2]
        return call(target, json.loads(await request.body()))

    return Starlette(routes=[Route("/", answer, methods=["POST"])])


def main() -> None:
    """Serve until told to stop."""
    arguments = argparse.ArgumentParser(description=__doc__)
    for name in ("--port", "--emulator-port"):
        arguments.add_argument(name, type=int, required=True)
    arguments.add_argument("--outputs", type=json.loads, required=True)
    arguments.add_argument("--with-alarms", action="store_true")
    given = arguments.parse_args()
    session = boto3.session.Session("test", "test", region_name="us-east-1")
    url = f"http://{HOST}:{given.emulator_port}"

    def aws(service: Any) -> Any:  # noqa: ANN401 - boto3 makes its clients at run time
        return session.client(service, endpoint_url=url)

    if given.with_alarms:
        alarms.start(aws, given.outputs)
    serve(application(Orchestration(aws, given.outputs)), given.port)


if __name__ == "__main__":
    main()
