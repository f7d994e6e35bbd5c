"""The template's tables on the fake, on moto and on the emulator, and a ledger that uses them."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any

import boto3
import pytest
from moto import mock_aws
from moto.backends import get_backend
from moto.core.models import DEFAULT_ACCOUNT_ID

from local.stack import REGION
from redpacket.ledger.dynamodb.deposits import DynamoDeposits
from redpacket.ledger.model import (
    DEPOSITS,
    Transfer,
    TransferKind,
    packet_account,
    refund_id,
    settle_id,
    user_account,
)
from redpacket.packets.dynamodb.claims import DynamoClaims
from redpacket.packets.dynamodb.funding import DynamoFunding
from redpacket.packets.dynamodb.ledger import DynamoLedger
from redpacket.packets.dynamodb.packets import DynamoPackets
from redpacket.packets.dynamodb.pages import DynamoPages
from redpacket.packets.dynamodb.work_lists import DynamoWorkLists
from redpacket.packets.model.claim import RecordStatus, Share, claimer_of
from redpacket.packets.model.closing import find_end
from redpacket.packets.model.packet import Packet, PacketEnd
from redpacket.platform.dynamodb.client import Dynamo
from redpacket.platform.idempotency import Request
from redpacket.platform.user import User
from testing.builders import (
    NOW_MS,
    a_claim,
    a_funding,
    a_packet,
    a_packet_id,
    a_refund,
    a_user_id,
    list_shares,
)
from testing.fakes import FakeDynamo
from testing.platform.cloud import Cloud, make_tables
from testing.platform.fake_tables import TABLE_NAMES
from testing.reconciliation.ledger_state import LedgerState, read_ledger_state

KINDS = ("fake", "emulator")

PAID_MS = NOW_MS + 5_000
REFUNDED_MS = NOW_MS + 70_000
"""Times at which these tests pay claims, and refund packets that have ended."""


@contextmanager
def a_client(kind: str, request: pytest.FixtureRequest) -> Iterator[Any]:
    """Yield a client for tables named as in the template (testing/platform/cloud.py)."""
    if kind == "fake":
        yield FakeDynamo()
    elif kind == "moto":
        mock = mock_aws()
        mock.start(reset=False)
        try:
            yield _motos_client()
        finally:
            # The next test reuses the tables, because creating them takes longer than most tests.
            for table in get_backend("dynamodb")[DEFAULT_ACCOUNT_ID][REGION].tables.values():
                table.items.clear()
            mock.stop(remove_data=False)
    else:
        cloud: Cloud = request.getfixturevalue("cloud")
        yield cloud.aws("dynamodb")


@cache
def _motos_client() -> Any:
    """Return a client inside moto's mock, with empty tables."""
    client = boto3.session.Session().client(
        "dynamodb", region_name=REGION, aws_access_key_id="test", aws_secret_access_key="test"
    )
    make_tables(client)
    return client


@dataclass
class Books:
    """Adapters under test, and a view of all rows that they write."""

    client: Any
    ledger: DynamoLedger
    deposits: DynamoDeposits
    funding: DynamoFunding
    packets: DynamoPackets
    claims: DynamoClaims
    work: DynamoWorkLists
    pages: DynamoPages

    def ledger_state(self) -> LedgerState:
        tables = ("accounts", "packets", "shares", "campaigns", "draws", "quotas", "payments")
        return read_ledger_state(self.client, *tables)

    def deposited(self, user_id: str, amount_fen: int) -> None:
        self.deposits.deposit(a_deposit(user_id, amount_fen), a_request("operator"))

    def sent(
        self, total_fen: int = 1000, count: int = 4, shards: int = 1, **changes: Any
    ) -> Packet:
        sender = User(a_user_id("sender"))
        self.deposited(sender.user_id, total_fen)
        changes = {"packet_id": a_packet_id(shards), "sender": sender, **changes}
        packet = a_packet(total_fen, count, **changes)
        self.funding.fund(packet, a_funding(packet), a_request(packet.sender.user_id))
        return packet

    def claimed(
        self, packet: Packet, share_no: int, user_id: str | None = None, **changes: Any
    ) -> Share:
        share = a_claim(packet, share_no, user_id or a_user_id("taker"), **changes)
        assert self.claims.record_claim(share) is RecordStatus.RECORDED
        return share

    def settled(
        self, packet: Packet, share_no: int, user_id: str | None = None, **changes: Any
    ) -> Share:
        share = self.claimed(packet, share_no, user_id, **changes)
        assert self.ledger.settle([a_settlement(share)], PAID_MS) == set()
        (settled,) = self.packets.list_refs([share.ref])
        return settled

    def refunded(self, packet: Packet, *share_nos: int) -> bool:
        return self.ledger.refund([some_refund(packet, *share_nos)], REFUNDED_MS)

    def ended(self, packet: Packet) -> PacketEnd:
        """Return the sums of a packet whose shares all have outcomes."""
        end = find_end(list_shares(self.packets, packet.packet_id), packet.terms.count)
        assert end
        return end

    def balance_fen(self, user_id: str) -> int:
        return self.ledger.balance_fen(user_account(user_id))


def some_books(client: Any, *, has_receipts: bool = True) -> Books:
    dynamo = Dynamo(lambda: client, TABLE_NAMES, pause_s=lambda _: None)
    return Books(
        client,
        DynamoLedger(dynamo, has_receipts=has_receipts),
        DynamoDeposits(dynamo),
        DynamoFunding(dynamo),
        DynamoPackets(dynamo),
        DynamoClaims(dynamo),
        DynamoWorkLists(dynamo),
        DynamoPages(dynamo),
    )


def a_request(user_id: str, key: str | None = None, body_hash: str = "body") -> Request:
    return Request(user_id, key or a_user_id("key"), body_hash)


def a_deposit(user_id: str, amount_fen: int, at_ms: int = NOW_MS) -> Transfer:
    account = user_account(user_id)
    return Transfer(
        a_user_id("deposit"), TransferKind.DEPOSIT, DEPOSITS, account, amount_fen, at_ms
    )


def a_settlement(share: Share, at_ms: int = PAID_MS) -> tuple[Share, Transfer]:
    """Return a claim with the transfer that pays it."""
    return share, Transfer(
        settle_id(share.packet_id, share.share_no),
        TransferKind.SETTLE,
        packet_account(share.packet_id),
        user_account(claimer_of(share).user_id),
        share.amount_fen,
        at_ms,
        placed_at_ms=share.decided_at_ms,
    )


def some_refund(packet: Packet, *share_nos: int) -> tuple[list[Share], Transfer]:
    """Return refunded shares with the transfer that returns their money."""
    changes = {"refund_no": share_nos[0], "decided_at_ms": REFUNDED_MS}
    shares = [a_refund(packet, no, **changes) for no in share_nos]
    return shares, Transfer(
        refund_id(packet.packet_id, share_nos[0]),
        TransferKind.REFUND,
        packet_account(packet.packet_id),
        user_account(packet.sender.user_id),
        sum(share.amount_fen for share in shares),
        REFUNDED_MS,
    )
