"""Runs of reconciliation as executions of a Step Functions state machine."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from redpacket.reconciliation.ports import StoredRun


class StateMachine:
    """Implements Runs; the name of an execution is the run's id."""

    def __init__(self, client: Callable[[], Any], arn: str) -> None:
        self._client = client
        self._arn = arn

    def start(self, run_id: str) -> None:
        self._client().start_execution(stateMachineArn=self._arn, name=run_id)

    def find(self, run_id: str) -> StoredRun | None:
        client = self._client()
        arn = f"{self._arn.replace(':stateMachine:', ':execution:')}:{run_id}"
        try:
            found = client.describe_execution(executionArn=arn)
        except client.exceptions.ExecutionDoesNotExist:
            return None
        return StoredRun(run_id, found["status"], json.loads(found.get("output", "{}")))

    def newest(self, status: str) -> str | None:
        found = self._client().list_executions(
            stateMachineArn=self._arn, statusFilter=status, maxResults=1
        )
        names: list[str] = [one["name"] for one in found["executions"]]
        return names[0] if names else None
