"""Reconciliation's state machine, which the emulator runs with injected errors."""

import json
import subprocess
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from local.demands import Place, demands
from local.orchestration import Machine, Orchestration, TaskError, clients_of
from local.places import LAMBDA_PYTHON
from tests.template.iam import may, statements
from tests.template.test_demands import definition
from tests.template.translated import ACCOUNT, STACK_OF, STACK_UUID

_RUN = """
import json, sys, threading
from ministack.services import stepfunctions as machine
definition, answers, failures = json.load(sys.stdin)
machine._SFN_WAIT_SCALE = 0
calls, lock = [], threading.Lock()

def invoke(resource, arguments):
    integration = resource.partition(":::")[2]
    if integration == "lambda:invoke":
        integration = next(name for name in ("asked_at_ms", "places", "queries")
                           if name in arguments["Payload"])
    with lock:
        calls.append([integration, arguments])
        for failure in failures:
            if failure["of"] == integration and failure["times"] > 0:
                failure["times"] -= 1
                raise machine._ExecutionError(failure["error"], "planted")
    return answers[integration]

machine._invoke_resource = invoke
arn = "arn:aws:states:us-east-1:000000000000:stateMachine:reconcile"
machine._state_machines[arn] = {"name": "reconcile", "definition": json.dumps(definition)}
run = {"stateMachineArn": arn, "name": "0-1", "status": "RUNNING", "startDate": "", "input": "{}",
       "executionArn": "run", "events": [], "output": None, "stopDate": None}
machine._executions["run"] = run
machine._run_execution("run")
print(json.dumps([run["status"], json.loads(run["output"]), calls]))
"""

SYNC = "athena:startQueryExecution.sync"
DROP = "aws-sdk:glue:deleteDatabase"
EXPORT = "aws-sdk:dynamodb:exportTableToPointInTime"
COUNT = "aws-sdk:cloudwatch:putMetricData"
DEV = STACK_OF["dev"]
STEM = f"redpacket_{STACK_UUID.replace('-', '_')}_0_1"


@dataclass
class Ran:
    """Execution that ended."""

    status: str
    output: dict[str, Any]
    calls: list[tuple[str, dict[str, Any]]]
    counts: Counter[str] = field(init=False)

    def __post_init__(self) -> None:
        self.counts = Counter(name for name, _ in self.calls)

    def of(self, integration: str) -> list[dict[str, Any]]:
        return [arguments for name, arguments in self.calls if name == integration]


def _run(*failures: tuple[str, str, int], base: str = "", differences: tuple[str, ...] = ()) -> Ran:
    """Run the state machine; each injected failure is an integration, an error and a count."""
    stale = [f"{STEM.rpartition('_')[0]}_9_1"]
    export = {"base": base, "exported_at_ms": 1_764_000_000_000, "since_ms": 1_763_900_000_000}
    query = {"name": "a", "sql": "SELECT 1"}
    table = DEV.arn("AccountsTable")
    described = {"ExportStatus": "COMPLETED", "ItemCount": 3, "ExportArn": f"{table}/export/01-a"}
    answers = {
        "asked_at_ms": {"Payload": export},
        "places": {"Payload": {"batches": [[query], [query, query]], "views": [query]}},
        "queries": {
            "Payload": {"differences": differences, "stale": stale, "database": f"{STEM}_1"}
        },
        EXPORT: {"ExportDescription": described},
        "aws-sdk:dynamodb:describeExport": {"ExportDescription": described},
        "aws-sdk:glue:createDatabase": {},
        SYNC: {"QueryExecution": {"QueryExecutionId": "q"}},
        DROP: {},
        COUNT: {},
    }
    planted = [{"of": of, "error": error, "times": times} for of, error, times in failures]
    done = subprocess.run(
        [LAMBDA_PYTHON, "-P", "-c", _RUN],
        input=json.dumps([definition(DEV), answers, planted]),
        capture_output=True,
        text=True,
        check=False,
        env={"LOG_LEVEL": "ERROR"},
    )
    assert done.returncode == 0, done.stderr
    status, output, calls = json.loads(done.stdout.splitlines()[-1])
    return Ran(status, output, calls)


def test_a_run_exports_queries_judges_and_drops_stale_tables() -> None:
    run = _run()

    assert (run.status, run.counts[EXPORT], run.counts[SYNC]) == ("SUCCEEDED", 11, 4)
    assert [each["Name"] for each in run.of(DROP)] == [f"{STEM.rpartition('_')[0]}_9_1"]
    assert run.output["database"] == f"{STEM}_1"
    (planned,) = run.of("places")
    first = planned["Payload"]["places"][0]
    assert first["place"].endswith(f"/exports/{STEM}_1/accounts/AWSDynamoDB/01-a/data/")
    assert len({each["ClientToken"] for each in run.of(EXPORT)}) == 11


def _place() -> Place:
    return Place("aws", DEV.region, ACCOUNT, DEV.ref("ExportBucket"))


@pytest.mark.parametrize("base", ["", "earlier"])
def test_the_role_allows_every_call_of_a_run(base: str) -> None:
    run = _run((DROP, "Glue.InternalServiceException", 99), base=base, differences=("one",))

    refused = [
        str(access)
        for name, arguments in run.calls
        for access in demands(name if ":" in name else "lambda:invoke", arguments, _place())
        if not may(DEV, access)
    ]

    assert len(run.calls) > 40
    assert refused == []


def _tasks(granted: list[dict[str, Any]], folder: Path) -> Orchestration:
    return Orchestration(lambda _: None, {}, lambda: Machine(_place(), granted), folder)


def test_the_local_stack_refuses_a_task_without_the_right_for_it(
    tmp_path: Path,
) -> None:
    arguments = {"Name": f"{STEM}_1"}
    granted = statements(DEV, "ReconcileMachine")
    lacking = [each for each in granted if each["Sid"] != "DropFunctions"]
    assert len(lacking) == len(granted) - 1

    refused, tried = (_tasks(given, tmp_path) for given in (lacking, granted))

    with pytest.raises(TaskError, match="userDefinedFunction") as error:
        refused.run_task(f"arn:aws:states:::{DROP}", arguments)
    assert error.value.error == "Glue.AccessDeniedException"
    with pytest.raises(TaskError) as gone:
        tried.run_task(f"arn:aws:states:::{DROP}", arguments)
    assert gone.value.error == "Glue.EntityNotFoundException"


def test_differences_are_checked_twice_and_the_rows_of_the_first_check_are_dropped() -> None:
    run = _run(differences=("one",))

    assert (run.status, run.counts["asked_at_ms"]) == ("SUCCEEDED", 2)
    assert [each["Payload"]["first"] is None for each in run.of("queries")] == [True, False]
    databases = [each["DatabaseInput"]["Name"] for each in run.of("aws-sdk:glue:createDatabase")]
    assert databases == [f"{STEM}_1", f"{STEM}_2"]
    assert f"{STEM}_1" in {each["Name"] for each in run.of(DROP)}


def test_errors_of_exports_and_calls_are_retried() -> None:
    run = _run(
        (EXPORT, "DynamoDb.LimitExceededException", 3),
        ("asked_at_ms", "Lambda.TooManyRequestsException", 2),
        ("queries", "Lambda.ServiceException", 1),
        (SYNC, "Athena.TooManyRequestsException", 2),
    )

    assert run.status == "SUCCEEDED"
    assert run.counts[EXPORT] == 14
    assert len({each["ClientToken"] for each in run.of(EXPORT)}) == 11


def test_a_database_that_remains_fails_no_run_and_is_counted() -> None:
    run = _run((DROP, "Glue.AccessDeniedException", 99))

    assert (run.status, run.counts[COUNT]) == ("SUCCEEDED", 1)
    assert run.output["database"] == f"{STEM}_1"


def test_a_missing_database_is_no_error() -> None:
    run = _run((DROP, "Glue.EntityNotFoundException", 1))

    assert (run.status, run.counts[COUNT], run.counts[DROP]) == ("SUCCEEDED", 0, 1)


def test_a_failed_run_reports_its_reason_even_if_its_database_remains() -> None:
    run = _run((SYNC, "States.TaskFailed", 9), (DROP, "Glue.AccessDeniedException", 99))

    assert (run.status, run.output["Error"]) == ("FAILED", "States.TaskFailed")
    assert run.counts[COUNT] == 1


def test_a_failed_run_on_an_earlier_base_starts_again_with_all_rows() -> None:
    run = _run((SYNC, "States.TaskFailed", 1), base="earlier")

    assert run.status == "SUCCEEDED"
    asked = [each["Payload"] for each in run.of("asked_at_ms")]
    assert [(each["is_full"], each["database"]) for each in asked] == [
        (False, f"{STEM}_1"),
        (True, f"{STEM}_2"),
    ]


def test_the_local_machine_waits_for_a_function_until_it_times_out() -> None:
    function = DEV.of_type("AWS::Lambda::Function")["ReconcileFunction"]

    client = clients_of("http://127.0.0.1:1")("lambda")

    assert client.meta.config.read_timeout >= function["Timeout"]
