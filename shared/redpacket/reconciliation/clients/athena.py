"""Athena queries over an export."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from redpacket.platform.errors import Unavailable
from redpacket.platform.runtime import Clock
from redpacket.reconciliation.ports import Found

_PAUSE_MS = 500
_ENDED_BADLY = frozenset({"FAILED", "CANCELLED"})


class Athena:
    """SQL engine for one database; the workgroup limits how much data a query may scan."""

    def __init__(
        self, client: Callable[[], Any], workgroup: str, database: str, clock: Clock
    ) -> None:
        self._client = client
        self._workgroup, self.database, self._clock = workgroup, database, clock

    def rows(self, sql: str) -> Found:
        started = self._client().start_query_execution(
            QueryString=sql,
            WorkGroup=self._workgroup,
            QueryExecutionContext={"Database": self.database},
        )
        query_id: str = started["QueryExecutionId"]
        while True:
            response = self._client().get_query_execution(QueryExecutionId=query_id)
            status = response["QueryExecution"]["Status"]
            if status["State"] == "SUCCEEDED":
                return self.result(query_id)
            if status["State"] in _ENDED_BADLY:
                raise Unavailable(f"query {query_id}: {status.get('StateChangeReason', '')}")
            self._clock.sleep_ms(_PAUSE_MS)

    def result(self, query_id: str) -> Found:
        rows: Found = []
        arguments = {"QueryExecutionId": query_id}
        while True:
            page = self._client().get_query_results(**arguments)
            rows += [
                tuple(value.get("VarCharValue") for value in row["Data"])
                for row in page["ResultSet"]["Rows"]
            ]
            if "NextToken" not in page:
                break
            arguments["NextToken"] = page["NextToken"]
        # The first row contains the column names.
        return rows[1:]
