"""How a packet of 100,000 shares that nobody took goes back to its sender, over many invocations.

make bench-refund

Against the DynamoDB of the emulator, in tables of its own, and a real cache. Every invocation is a
process with a few seconds of time, and one of them is killed in the middle. The seconds are the
emulator's; transactions and invocations are what they would be anywhere.
"""

from __future__ import annotations

import json
import tempfile
import time
from dataclasses import dataclass
from itertools import count
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from local.ports import HOST
from local.stack import Stack
from redpacket.adapters.dynamo import Dynamo
from redpacket.adapters.dynamo_ledger import DynamoLedger
from redpacket.adapters.dynamo_packets import DynamoPackets
from redpacket.adapters.redis_cache import connect
from redpacket.adapters.redis_claims import RedisClaims
from redpacket.domain.ledger import DEPOSITS, Transfer, TransferKind, escrow_account, user_account
from redpacket.domain.packet import PacketStatus, Person
from redpacket.flows.audit_packet import read_account
from redpacket.flows.expire_packets import expire_packets
from redpacket.flows.settle_claims import settle_claims
from redpacket.flows.try_parts import PartedBoard
from redpacket.ports import Request
from tests.builders import a_claim, a_funding, a_packet, a_packet_id
from tests.fakes import FakeJournal
from tests.faults.rush import WallClock
from tests.faults.servers import CACHE_TIMEOUT_S, some_servers

COUNT = 100_000
PARTS = 5
CLAIMED = 100
TOTAL_FEN = 500 * COUNT
INVOCATION_MS = 12_000
"""A sweep has 55 s."""

KILLED = 2
KILL_AFTER_S = 4.0
TABLES = ("AccountsTable", "PacketsTable")


@dataclass(frozen=True, slots=True)
class Books:
    """Where the money is; each invocation makes its own clients."""

    stack: Stack
    accounts: str
    packets: str
    cache_port: int

    def adapters(self) -> tuple[DynamoLedger, DynamoPackets]:
        """Return what one process uses."""
        client = self.stack.aws("dynamodb")
        dynamo = Dynamo(lambda: client)
        ledger = DynamoLedger(dynamo, self.accounts, self.packets)
        return ledger, DynamoPackets(dynamo, self.packets)


def main() -> None:
    """Measure, and print; the last line is JSON."""
    with (
        tempfile.TemporaryDirectory(prefix="redpacket-") as folder,
        some_servers() as start,
        Stack(Path(folder)) as stack,
    ):
        client = stack.aws("dynamodb")
        accounts, packets = (_a_copy(client, stack.outputs[name]) for name in TABLES)
        books = Books(stack, accounts, packets, start().port)
        packet_id = _sent(books)
        invocations, took_s = _sweep_until_closed(books, packet_id)
        transactions = _refunds_of(books, packet_id)
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
    _, packets = books.adapters()
    began_s = time.monotonic()
    for invocation in count(1):
        worker = get_context("fork").Process(target=_sweep, args=(books,))
        worker.start()
        worker.join(KILL_AFTER_S if invocation == KILLED else None)
        worker.kill()
        worker.join()
        (packet,) = packets.list_packets([packet_id])
        killed = ", killed" if worker.exitcode else ""
        print(f"invocation {invocation}{killed}: {packet.refunded_fen} fen are back")
        if packet.status is PacketStatus.CLOSED:
            return invocation, time.monotonic() - began_s
    raise AssertionError


def _a_copy(client: Any, table: str) -> str:  # noqa: ANN401 - boto3's clients have no type
    """Make a table like a deployed one, where no schedule sweeps."""
    like = client.describe_table(TableName=table)["Table"]
    name = f"{table}-refund"
    indexes = [
        {key: index[key] for key in ("IndexName", "KeySchema", "Projection")}
        for index in like.get("GlobalSecondaryIndexes", [])
    ]
    client.create_table(
        TableName=name,
        KeySchema=like["KeySchema"],
        AttributeDefinitions=like["AttributeDefinitions"],
        BillingMode="PAY_PER_REQUEST",
        **({"GlobalSecondaryIndexes": indexes} if indexes else {}),
    )
    return name


def _sent(books: Books) -> str:
    """Send a packet that is due, some of whose shares are claimed and paid."""
    ledger, packets = books.adapters()
    clock = WallClock()
    packet = a_packet(
        TOTAL_FEN,
        COUNT,
        packet_id=a_packet_id(PARTS),
        sender=Person("sender"),
        created_at_ms=clock.now_ms() - 120_000,
    )
    deposited = Transfer(
        "deposit", TransferKind.DEPOSIT, DEPOSITS, user_account("sender"), TOTAL_FEN, clock.now_ms()
    )
    ledger.deposit(deposited, Request("operator", "deposit", "body"))
    ledger.fund(packet, a_funding(packet), Request("sender", "send", "body"))
    packets.mark_loaded(packet)
    claims = [a_claim(packet, number, f"user-{number}") for number in range(1, CLAIMED + 1)]
    for claim in claims:
        packets.record_claim(claim)
    refs = [claim.ref for claim in claims]
    left = settle_claims(refs, ledger=ledger, packets=packets, clock=clock, journal=FakeJournal())
    assert not left
    return packet.packet_id


def _sweep(books: Books) -> None:
    """Be one invocation of the sweep."""
    ledger, packets = books.adapters()
    clock = WallClock()
    cache = connect(
        HOST, books.cache_port, has_tls=False, username="", password="", timeout_s=CACHE_TIMEOUT_S
    )
    expire_packets(
        packets=packets,
        board=PartedBoard(RedisClaims(cache), clock=clock),
        ledger=ledger,
        clock=clock,
        journal=FakeJournal(),
        grace_ms=0,
        stop_at_ms=clock.now_ms() + INVOCATION_MS,
    )


def _refunds_of(books: Books, packet_id: str) -> int:
    """Count the refunds in the escrow's book, which has given away everything."""
    ledger, _ = books.adapters()
    balance_fen, book = read_account(escrow_account(packet_id), ledger=ledger)
    assert balance_fen == 0
    return sum(entry.kind is TransferKind.REFUND for entry in book)


if __name__ == "__main__":
    main()
