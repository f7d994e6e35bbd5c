"""How many small packets a sweep closes in a second, and what it asks for each.

make bench-sweep

Against the DynamoDB of the emulator and a real cache: packets of ten shares, one of them claimed
and paid, of many senders. First one after the other, then as a deployed sweep does. Each call of
DynamoDB waits as long again as AWS' own would; beside that the emulator's work takes most of the
time. Calls and CPU of the sweep's process are what they would be anywhere (docs/capacity.md uses
them).
"""

from __future__ import annotations

import json
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from bench.due_packets import Books
from redpacket.adapters.threads import in_threads
from redpacket.ports.runtime import InParallel
from testing.builders import a_packet_id
from testing.cloud import a_cloud
from testing.in_memory_system import one_by_one

SENDERS = 80
PACKETS_PER_SENDER = 5
SHARES = 10
TOTAL_FEN = 1_000
LONG_MS = 600_000
WAIT_S = 0.01
"""A call's way to DynamoDB and back, which the emulator on this machine doesn't have."""


@dataclass(frozen=True, slots=True)
class Swept:
    """What a sweep took."""

    packets: int
    took_s: float
    cpu_s: float
    calls: int


class _Counted:
    """A DynamoDB client that counts its calls."""

    def __init__(self, client: Any, calls: Counter[str]) -> None:  # noqa: ANN401 - boto3's
        self._client = client
        self._calls = calls

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - boto3's
        method = getattr(self._client, name)
        if name == "exceptions":
            return method

        def call(**arguments: Any) -> Any:  # noqa: ANN401 - boto3's
            self._calls[name] += 1
            time.sleep(WAIT_S)
            return method(**arguments)

        return call


@dataclass(frozen=True, slots=True)
class CountedBooks(Books):
    """Books whose calls are counted."""

    calls: Counter[str] = field(default_factory=Counter)

    def client(self) -> Any:  # noqa: ANN401 - boto3's
        """Return what speaks to DynamoDB, and counts its calls."""
        return _Counted(Books.client(self), self.calls)


def main() -> None:
    """Measure, and print; the last line is JSON."""
    with a_cloud() as cloud:
        books = CountedBooks(cloud)
        alone = _swept(books, "alone", one_by_one)
        together = _swept(books, "together", in_threads)
    print(f"calls: {dict(books.calls)}")
    print(
        json.dumps(
            {
                "packets": together.packets,
                "packets_per_s_per_sweep": round(together.packets / together.took_s, 1),
                "packets_per_s_one_by_one": round(alone.packets / alone.took_s, 1),
                "ratio": round(alone.took_s / together.took_s, 2),
                "cpu_ms_per_packet": round(1000 * together.cpu_s / together.packets, 2),
                "calls_per_packet": round(together.calls / together.packets, 2),
            }
        )
    )


def _swept(books: CountedBooks, name: str, in_parallel: InParallel) -> Swept:
    """Send packets that are due, and sweep until all are closed."""
    in_threads(lambda number: _send(books, f"{name}-{number}"), range(SENDERS))
    books.calls.clear()
    began_s, began_cpu_s = time.monotonic(), time.process_time()
    report = books.sweep(in_parallel=in_parallel, for_ms=LONG_MS)
    took_s, cpu_s = time.monotonic() - began_s, time.process_time() - began_cpu_s
    assert report.closed_count == SENDERS * PACKETS_PER_SENDER, report
    assert report.failed_count == 0
    print(f"{name}: {report.closed_count} packets in {took_s:.1f} s, {cpu_s:.1f} s of CPU")
    return Swept(report.closed_count, took_s, cpu_s, books.calls.total())


def _send(books: Books, sender: str) -> None:
    packet_ids = [a_packet_id() for _ in range(PACKETS_PER_SENDER)]
    books.send_due(sender, packet_ids, TOTAL_FEN, SHARES, claimed=1)


if __name__ == "__main__":
    main()
