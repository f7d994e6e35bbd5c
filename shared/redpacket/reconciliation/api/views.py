"""Parameters and responses of audits and reconciliations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from redpacket.platform.http.parameters import path_id
from redpacket.reconciliation.errors import RunNotFound

if TYPE_CHECKING:
    from redpacket.platform.difference import Difference
    from redpacket.reconciliation.api import answers
    from redpacket.reconciliation.ports import StoredRun
    from redpacket.reconciliation.use_cases.audit_packet import PacketAudit

RUN_ID = "[0-9a-f_-]{1,80}"
"""Pattern of run ids, which are execution names that the API or the schedule chooses."""

run_id_of = path_id("run_id", RUN_ID, RunNotFound, "Run ID from the response that started the run.")


def audit_view(audit: PacketAudit) -> answers.Audit:
    """Return the result of an audit."""
    return {
        "ok": not audit.differences,
        "differences": [_difference_view(difference) for difference in audit.differences],
        "share_count": audit.tally.share_count,
        "unsettled_count": audit.tally.unsettled_count,
        "unsettled_since_ms": audit.tally.unsettled_since_ms,
    }


def _difference_view(difference: Difference) -> answers.Difference:
    return {
        "rule": difference.rule,
        "subject": difference.subject,
        "what": difference.what,
        "expected": difference.expected,
        "actual": difference.actual,
    }


def reconciliation_view(run: StoredRun) -> answers.Reconciliation:
    """Return a run's status and, once the run is done, the results of its checks."""
    statuses: dict[str, Literal["running", "done"]] = {"RUNNING": "running", "SUCCEEDED": "done"}
    kinds: tuple[Literal["full"], Literal["incremental"]] = ("full", "incremental")
    return {
        "run_id": run.run_id,
        "status": statuses.get(run.status, "failed"),
        "step": run.step,
        "checks": run.output.get("checks", []),
        "differences": run.output.get("differences", []),
        "is_truncated": run.output.get("is_truncated", False),
        "until_ms": run.output.get("until_ms"),
        "export": kinds[bool(export["base"])] if (export := run.output.get("export")) else None,
    }
