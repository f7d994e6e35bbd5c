"""Port for a SQL engine over an export, and the type of a stored run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping


Found: TypeAlias = "list[tuple[str | None, ...]]"


class Engine(Protocol):
    """SQL engine with one export in *database*: Athena on AWS, DuckDB on a local stack."""

    database: str

    def rows(self, sql: str) -> Found:
        """Return a query's rows, with every value as text."""


@dataclass(frozen=True, slots=True)
class StoredRun:
    """Run as the state machine reports it; *output* is empty unless the run has succeeded."""

    run_id: str
    status: str
    output: Mapping[str, Any]
    step: str | None = None
    """Current step while the run is in progress; otherwise None."""
