"""How 20,000 unclaimed shares of a packet go back to the sender, over many invocations.

make bench-refund

Against the DynamoDB of the emulator and a real cache. Every invocation is a process with a few
seconds of time, and one of them is killed in the middle. The seconds are the emulator's: it takes
eight times the CPU of the sweep. Transactions and invocations are what they would be anywhere.
"""

from __future__ import annotations

import json
import time
from itertools import count
from multiprocessing import get_context

from bench.due_packets import Books
from redpacket.domain.ledger import TransferKind, user_account
from redpacket.domain.packet import PacketStatus
from testing.builders import a_packet_id
from testing.cloud import a_cloud

SENDER = "sender"
COUNT = 20_000
PARTS = 5
CLAIMED = 100
TOTAL_FEN = 500 * COUNT
INVOCATION_MS = 5_000
"""A sweep has 55 s."""

KILLED = 2
KILL_AFTER_S = 2.0

BOOK_PAGE = 500


def main() -> None:
    """Measure, and print; the last line is JSON."""
    with a_cloud() as cloud:
        books = Books(cloud)
        packet_id = a_packet_id(PARTS)
        books.send_due(SENDER, [packet_id], TOTAL_FEN, COUNT, CLAIMED)
        invocations, took_s = _sweep_until_closed(books, packet_id)
        transactions = _refunds_of(books)
    shares = COUNT - CLAIMED
    print(
        json.dumps(
            {
                "shares": shares,
                "invocations": invocations,
                "transactions_per_share": round(transactions / shares, 4),
                "refunded_per_s": round(shares / took_s),
            }
        )
    )


def _sweep_until_closed(books: Books, packet_id: str) -> tuple[int, float]:
    """Return how many invocations it took, and how many seconds."""
    _, packets, _ = books.adapters(books.dynamo())
    began_s = time.monotonic()
    for invocation in count(1):
        worker = get_context("fork").Process(target=books.sweep, kwargs={"for_ms": INVOCATION_MS})
        worker.start()
        worker.join(KILL_AFTER_S if invocation == KILLED else None)
        worker.kill()
        worker.join()
        (packet,) = packets.list_packets([packet_id])
        killed = ", killed" if worker.exitcode else ""
        print(f"invocation {invocation}{killed}: step {packet.closing_step} of {2 * PARTS}")
        if packet.status is PacketStatus.CLOSED:
            return invocation, time.monotonic() - began_s
    raise AssertionError


def _refunds_of(books: Books) -> int:
    """Count the refunds in the sender's book, who has everything back but what was claimed."""
    ledger, _, _ = books.adapters(books.dynamo())
    refunds, cursor = 0, None
    while True:
        page, cursor = ledger.list_entries(user_account(SENDER), cursor, BOOK_PAGE)
        refunds += sum(entry.kind is TransferKind.REFUND for entry in page)
        if cursor is None:
            return refunds


if __name__ == "__main__":
    main()
