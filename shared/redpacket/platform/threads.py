"""Threads for concurrent AWS calls."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

THREADS = 10
"""Maximum threads: botocore's default number of open connections."""


def in_threads(
    do: Callable[[Any], Any], items: Sequence[Any], *, threads: int = THREADS
) -> list[Any]:
    """Return `do(item)` for every item, in order; raise the first error after all have ended."""
    if len(items) <= 1:
        return [do(item) for item in items]
    with ThreadPoolExecutor(min(threads, len(items))) as pool:
        return list(pool.map(do, items))
