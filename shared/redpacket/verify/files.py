"""Input of the verifier: files with API responses."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeAlias

Document: TypeAlias = dict[str, Any]

COUNT_MAX = 1_000_000
"""Maximum share count and draw number; a larger, forged number could take hours to compute."""


class Unreadable(Exception):
    """Error for a file that is not an API response."""


def read(path: Path) -> Document:
    """Return the JSON object in a file. Raises Unreadable."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise Unreadable(f"{path}: {error}") from error
    if not isinstance(document, dict):
        raise Unreadable(f"{path}: not a JSON object")
    return document


def get(document: Document, name: str, kind: type) -> Any:  # noqa: ANN401 - of the given kind
    """Return the member *name*, which must have the type *kind*. Raises Unreadable."""
    value = document.get(name)
    if type(value) is not kind:
        raise Unreadable(f"{name} is missing, or is not of type {kind.__name__}")
    return value


def shown_time(at_ms: int) -> str:
    """Return a time in readable form. Raises Unreadable."""
    try:
        return datetime.fromtimestamp(at_ms / 1000, UTC).isoformat()
    except (ValueError, OSError, OverflowError) as error:
        raise Unreadable(f"{at_ms} is not a time") from error
