"""Packets that are due, in a real ledger, and invocations of the sweep that end them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from local.ports import HOST
from local.stack import REGION
from redpacket.adapters.aws.client import AwsClient
from redpacket.adapters.aws.signature import Keys
from redpacket.adapters.dynamo.claims import DynamoClaims
from redpacket.adapters.dynamo.client import Dynamo
from redpacket.adapters.dynamo.deposits import DynamoDeposits
from redpacket.adapters.dynamo.funding import DynamoFunding
from redpacket.adapters.dynamo.ledger import DynamoLedger
from redpacket.adapters.dynamo.packets import DynamoPackets
from redpacket.adapters.dynamo.pages import DynamoPages
from redpacket.adapters.dynamo.work_lists import DynamoWorkLists
from redpacket.adapters.redis.claims import RedisClaims
from redpacket.adapters.redis.connect import connect
from redpacket.adapters.redis.parted_claims import PartedClaims
from redpacket.adapters.threads import in_threads
from redpacket.domain.ledger import DEPOSITS, Transfer, TransferKind, user_account
from redpacket.domain.packet import Packet, Person
from redpacket.flows.packets.expire_packets import ExpireReport, expire_packets
from redpacket.flows.packets.settle_claims import settle_claims
from redpacket.ports.accounts import Request
from redpacket.ports.runtime import InParallel
from testing.builders import a_claim, a_funding, a_packet
from testing.cloud import Cloud
from testing.fakes import FakeJournal, FakeQueue
from testing.servers import CACHE_TIMEOUT_S
from testing.wall_clock import WallClock

ENDED_MS = 60_000
"""How long ago they ended."""

_PATIENCE_S = 20
"""The emulator takes 50 ms of CPU for a transaction, and has to share its processor."""


@dataclass(frozen=True, slots=True)
class Books:
    """Where the money is; each invocation makes its own clients."""

    cloud: Cloud

    def client(self) -> Any:  # noqa: ANN401 - boto3's
        """Return what speaks to DynamoDB, as in a deployed function."""
        return AwsClient(
            "dynamodb",
            REGION,
            f"http://{HOST}:{self.cloud.aws_port}",
            keys=lambda: Keys("test", "test", ""),
            ca_bundle="",
            connect_timeout_s=1,
            read_timeout_s=_PATIENCE_S,
        )

    def dynamo(self) -> Dynamo:
        """Return DynamoDB as one process reaches it."""
        client = self.client()
        return Dynamo(lambda: client)

    def adapters(self, dynamo: Dynamo) -> tuple[DynamoLedger, DynamoPackets, DynamoPages]:
        """Return what one process uses."""
        ledger = DynamoLedger(dynamo, "accounts", "packets", "shares")
        return ledger, DynamoPackets(dynamo, "packets", "shares"), DynamoPages(dynamo, "packets")

    def sweep(self, *, in_parallel: InParallel = in_threads, for_ms: int) -> ExpireReport:
        """Be one invocation of the sweep."""
        dynamo = self.dynamo()
        ledger, packets, pages = self.adapters(dynamo)
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
            work=DynamoWorkLists(dynamo, "packets", "shares"),
            packets=packets,
            pages=pages,
            claim_cache=PartedClaims(RedisClaims(cache), clock=clock),
            ledger=ledger,
            clock=clock,
            journal=FakeJournal(),
            grace_ms=0,
            stop_at_ms=clock.now_ms() + for_ms,
            in_parallel=in_parallel,
        )

    def send_due(
        self, sender: str, packet_ids: list[str], total_fen: int, shares: int, claimed: int
    ) -> None:
        """Send packets that are due, of each of which the first shares are claimed and paid."""
        dynamo = self.dynamo()
        ledger, packets, pages = self.adapters(dynamo)
        clock = WallClock()
        deposit_fen = len(packet_ids) * total_fen
        account = user_account(sender)
        DynamoDeposits(dynamo, "accounts", "profiles").deposit(
            Transfer(f"deposit:{sender}", TransferKind.DEPOSIT, DEPOSITS, account, deposit_fen, 1),
            Request("operator", f"deposit:{sender}", "body"),
        )
        funding = DynamoFunding(dynamo, "accounts", "packets", "campaigns", "profiles")
        recorder = DynamoClaims(dynamo, "shares", "quotas", "audience")
        claims = []
        for packet_id in packet_ids:
            packet = self._send(sender, packet_id, total_fen, shares, funding, packets)
            claims += [
                a_claim(packet, number, f"taker-{number}-{packet_id}")
                for number in range(1, claimed + 1)
            ]
        for claim in claims:
            recorder.record_claim(claim)
        unpaid = settle_claims(
            [claim.ref for claim in claims],
            ledger=ledger,
            packets=packets,
            pages=pages,
            payouts=FakeQueue(),
            clock=clock,
            journal=FakeJournal(),
            in_parallel=in_threads,
        )
        assert not unpaid

    @staticmethod
    def _send(
        sender: str,
        packet_id: str,
        total_fen: int,
        shares: int,
        funding: DynamoFunding,
        packets: DynamoPackets,
    ) -> Packet:
        packet = a_packet(
            total_fen,
            shares,
            packet_id=packet_id,
            sender=Person(sender),
            created_at_ms=WallClock().now_ms() - ENDED_MS - 60_000,
        )
        funding.fund(packet, a_funding(packet), Request(sender, packet_id, "body"))
        packets.mark_loaded(packet)
        return packet
