"""How a packet of 100,000 shares that nobody took goes back to its sender, over many invocations.

make bench-refund

Against the DynamoDB of the emulator and a real cache. Every invocation is a
process with a few seconds of time, and one of them is killed in the middle. The seconds are the
emulator's; transactions and invocations are what they would be anywhere.
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from itertools import count
from multiprocessing import get_context
from typing import Any

from local.ports import HOST
from redpacket.adapters.dynamo import Dynamo
from redpacket.adapters.dynamo_ledger import DynamoLedger
from redpacket.adapters.dynamo_packets import DynamoPackets
from redpacket.adapters.dynamo_pages import DynamoPages
from redpacket.adapters.redis_cache import connect
from redpacket.adapters.redis_claims import RedisClaims
from redpacket.adapters.threads import in_threads
from redpacket.domain.ledger import DEPOSITS, Transfer, TransferKind, user_account
from redpacket.domain.packet import PacketStatus, Person
from redpacket.flows.expire_packets import ExpireReport, expire_packets
from redpacket.flows.settle_claims import settle_claims
from redpacket.flows.try_parts import PartedBoard
from redpacket.ports import InParallel, Request
from tests.builders import a_claim, a_funding, a_packet, a_packet_id
from tests.fakes import FakeJournal, FakeQueue
from tests.faults.cloud import Cloud, a_cloud
from tests.faults.rush import WallClock
from tests.faults.servers import CACHE_TIMEOUT_S

COUNT = 100_000
PARTS = 5
CLAIMED = 100
TOTAL_FEN = 500 * COUNT
INVOCATION_MS = 12_000
"""A sweep has 55 s."""

KILLED = 2
KILL_AFTER_S = 4.0

BOOK_PAGE = 500


@dataclass(frozen=True, slots=True)
class Books:
    """Where the money is; each invocation makes its own clients."""

    cloud: Cloud

    def adapters(self) -> tuple[DynamoLedger, DynamoPackets, DynamoPages]:
        """Return what one process uses."""
        client: Any = self.cloud.aws("dynamodb")
        dynamo = Dynamo(lambda: client)
        ledger = DynamoLedger(dynamo, "accounts", "packets", "shares")
        return ledger, DynamoPackets(dynamo, "packets", "shares"), DynamoPages(dynamo, "packets")

    def sweep(
        self, *, in_parallel: InParallel = in_threads, for_ms: int = INVOCATION_MS
    ) -> ExpireReport:
        """Be one invocation of the sweep."""
        ledger, packets, pages = self.adapters()
        clock = WallClock()
        cache = connect(
            HOST,
            self.cloud.ports.cache,
            has_tls=False,
            username="",
            password="",
            timeout_s=CACHE_TIMEOUT_S,
        )
        return expire_packets(
            packets=packets,
            pages=pages,
            board=PartedBoard(RedisClaims(cache), clock=clock),
            ledger=ledger,
            clock=clock,
            journal=FakeJournal(),
            grace_ms=0,
            stop_at_ms=clock.now_ms() + for_ms,
            in_parallel=in_parallel,
        )

    def deposit(self, user_id: str, total_fen: int) -> None:
        """Give a user the money for their packets."""
        ledger, _, _ = self.adapters()
        account = user_account(user_id)
        ledger.deposit(
            Transfer(f"deposit:{user_id}", TransferKind.DEPOSIT, DEPOSITS, account, total_fen, 1),
            Request("operator", f"deposit:{user_id}", "body"),
        )


def main() -> None:
    """Measure, and print; the last line is JSON."""
    with a_cloud() as cloud:
        books = Books(cloud)
        packet_id = _sent(books)
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
    _, packets, _ = books.adapters()
    began_s = time.monotonic()
    for invocation in count(1):
        worker = get_context("fork").Process(target=books.sweep)
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


def _sent(books: Books) -> str:
    """Send a packet that is due, some of whose shares are claimed and paid."""
    ledger, packets, pages = books.adapters()
    clock = WallClock()
    packet = a_packet(
        TOTAL_FEN,
        COUNT,
        packet_id=a_packet_id(PARTS),
        sender=Person("sender"),
        created_at_ms=clock.now_ms() - 120_000,
    )
    books.deposit("sender", TOTAL_FEN)
    ledger.fund(packet, a_funding(packet), Request("sender", "send", "body"))
    packets.mark_loaded(packet)
    claims = [a_claim(packet, number, f"user-{number}") for number in range(1, CLAIMED + 1)]
    for claim in claims:
        packets.record_claim(claim)
    refs = [claim.ref for claim in claims]
    left = settle_claims(
        refs,
        ledger=ledger,
        packets=packets,
        pages=pages,
        payouts=FakeQueue(),
        clock=clock,
        journal=FakeJournal(),
        in_parallel=in_threads,
    )
    assert not left
    return packet.packet_id


def _refunds_of(books: Books) -> int:
    """Count the refunds in the sender's book, who has everything back but what was claimed."""
    ledger, _, _ = books.adapters()
    refunds, cursor = 0, None
    while True:
        page, cursor = ledger.list_entries(user_account("sender"), cursor, BOOK_PAGE)
        refunds += sum(entry.kind is TransferKind.REFUND for entry in page)
        if cursor is None:
            return refunds


if __name__ == "__main__":
    main()
