"""Ports of reconciliation: a SQL engine over an export, and the runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping


Found: TypeAlias = "list[tuple[str | None, ...]]"


class Engine(Protocol):
    """SQL engine that has the rows of one export in *database*."""

    database: str

    def rows(self, sql: str) -> Found:
        """Return the rows of a query, every value as text."""


@dataclass(frozen=True, slots=True)
class StoredRun:
    """A run as its orchestration knows it; *output* is empty unless it has succeeded."""

    run_id: str
    status: str
    output: Mapping[str, Any]
    step: str | None = None
    """Current step of a run."""


class RunRepository(Protocol):
    """Runs of reconciliation, which an orchestration outside this process carries out."""

    def start(self, run_id: str) -> None:
        """Start a run."""

    def find(self, run_id: str) -> StoredRun | None:
        """Return a run."""

    def newest(self, status: str) -> list[str]:
        """Return the ids of some runs of a status, the newest first."""
