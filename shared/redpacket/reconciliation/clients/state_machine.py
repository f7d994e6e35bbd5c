"""Reconciliation runs as executions of a Step Functions state machine."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from redpacket.reconciliation.ports import StoredRun

_STEPS = {
    **dict.fromkeys(
        ("PlanExport", "ExportTables", "Export", "ExportChanges", "WaitForExport"), "exporting"
    ),
    "DescribeExport": "exporting",
    **dict.fromkeys(("AskBatches", "AskBatch", "Ask"), "comparing"),
    "Judge": "auditing",
}
"""Steps of a run, keyed by the state machine's state names."""

_EVENTS = 50
"""Number of newest execution events to read; they include the start of the current step."""

_RUNS = 3


class StateMachine:
    """Reconciliation runs; an execution's name is the run id."""

    def __init__(self, client: Callable[[], Any], arn: str) -> None:
        self._client = client
        self._arn = arn

    def start(self, run_id: str) -> None:
        """Start a run."""
        self._client().start_execution(stateMachineArn=self._arn, name=run_id)

    def find(self, run_id: str) -> StoredRun | None:
        """Return a run."""
        client = self._client()
        arn = f"{self._arn.replace(':stateMachine:', ':execution:')}:{run_id}"
        try:
            execution = client.describe_execution(executionArn=arn)
        except client.exceptions.ExecutionDoesNotExist:
            return None
        step = self._step(arn) if execution["status"] == "RUNNING" else None
        return StoredRun(
            run_id, execution["status"], json.loads(execution.get("output", "{}")), step
        )

    def newest(self, status: str) -> list[str]:
        """Return the ids of the newest runs with a status, newest first."""
        response = self._client().list_executions(
            stateMachineArn=self._arn, statusFilter=status, maxResults=_RUNS
        )
        return [execution["name"] for execution in response["executions"]]

    def _step(self, arn: str) -> str | None:
        history = self._client().get_execution_history(
            executionArn=arn, reverseOrder=True, maxResults=_EVENTS, includeExecutionData=False
        )
        entered = (
            event.get("stateEnteredEventDetails", {}).get("name") for event in history["events"]
        )
        return next((_STEPS[name] for name in entered if name in _STEPS), None)
