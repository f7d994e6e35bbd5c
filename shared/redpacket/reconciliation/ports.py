"""Port of a SQL engine over an export, and values of runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping


Found: TypeAlias = "list[tuple[str | None, ...]]"


class Engine(Protocol):
    """SQL engine that has one export in *database*: Athena, or DuckDB in the emulator."""

    database: str

    def rows(self, sql: str) -> Found:
        """Return the rows of a query, every value as text."""


@dataclass(frozen=True, slots=True)
class StoredRun:
    """Run as its orchestration reports it; *output* is empty unless it has succeeded."""

    run_id: str
    status: str
    output: Mapping[str, Any]
    step: str | None = None
    """Current step of a run."""
