"""Response schemas for audits and reconciliations."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field
from typing_extensions import TypedDict

from redpacket.packets.api.answer_fields import SOME_PACKET_ID
from redpacket.platform.http.answer_fields import AtMs, Count, Word
from redpacket.platform.http.bodies import about


class Difference(TypedDict):
    """One violated rule."""

    rule: Annotated[
        Word, about("Violated invariant, or the part that differs, such as `log`.", "I4")
    ]
    subject: Annotated[Word, Field(examples=[f"packet {SOME_PACKET_ID}"])]
    what: Annotated[Word, Field(examples=["settled_fen"])]
    expected: int | str
    actual: int | str


Differences = Annotated[list[Difference], about("Violated rules; empty if all hold.")]


class Audit(TypedDict):
    """Result of an audit."""

    ok: Annotated[bool, about("Whether the audit found no violation.")]
    differences: Differences
    share_count: Annotated[Count, about("Claimed and refunded shares that were examined.")]
    unsettled_count: Annotated[
        Count, about("Claims that are not settled yet; a late claim is also a difference.")
    ]
    unsettled_since_ms: Annotated[
        AtMs | None, about("Time of the oldest unsettled claim; null if there is none.")
    ]


class StartedRun(TypedDict):
    """Reconciliation that has started."""

    run_id: Annotated[Word, about("Run ID, for `GET /admin/reconcile/{run_id}`.", "3f" * 16)]


class Check(TypedDict):
    """Result of one check."""

    name: Annotated[Word, Field(examples=["check_postings"])]
    examined: Annotated[Count, about("Rows that the check read; if 0, the check proves nothing.")]
    differences: Count


class Reconciliation(TypedDict):
    """Status of a reconciliation; `checks` and `differences` are empty until the run is done."""

    run_id: Word
    status: Literal["running", "done", "failed"]
    step: Annotated[Word | None, about("Current step while the run is running.", "comparing")]
    checks: list[Check]
    differences: Differences
    is_truncated: Annotated[
        bool, about("Whether more differences were found than are listed; `checks` counts all.")
    ]
    until_ms: Annotated[
        AtMs | None,
        about("Only the next run compares facts after this time; null until the run is done."),
    ]
    export: Annotated[
        Literal["full", "incremental"] | None,
        about("Whether the run exported all rows, or only changes since an earlier run.", "full"),
    ]
