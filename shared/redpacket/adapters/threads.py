"""Threads for calls that wait for AWS side by side."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

THREADS = 10
"""As many connections as botocore keeps open by itself; a call waits for most of its time."""


def in_threads(
    do: Callable[[Any], Any], items: Sequence[Any], *, threads: int = THREADS
) -> list[Any]:
    """Return `do(item)` of every item, in order; raise the first error once all have ended."""
    if len(items) <= 1:
        return [do(item) for item in items]
    with ThreadPoolExecutor(min(threads, len(items))) as pool:
        return list(pool.map(do, items))
