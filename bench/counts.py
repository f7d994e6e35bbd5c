"""Writes of a claim and reads of a page, counted while the real use cases run in memory."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from local.user_ids import PUBLISHED_USER_IDS
from redpacket.events.model.events import Change
from redpacket.events.model.notices import notices_of
from redpacket.ledger.dynamodb.deposits import DynamoDeposits
from redpacket.ledger.model import DEPOSITS, Transfer, TransferKind, user_account
from redpacket.packets.dynamodb.claims import DynamoClaims
from redpacket.packets.dynamodb.funding import DynamoFunding
from redpacket.packets.dynamodb.ledger import DynamoLedger
from redpacket.packets.dynamodb.packets import DynamoPackets
from redpacket.packets.dynamodb.pages import DynamoPages
from redpacket.packets.model.claim import Quota, Share, ShareRef
from redpacket.packets.model.packet import Packet, shard_count
from redpacket.packets.use_cases.read_records import read_record
from redpacket.packets.use_cases.settle_claims import SettlePorts, settle_claims
from redpacket.platform.dynamodb.client import Dynamo
from redpacket.platform.idempotency import Request
from redpacket.platform.user import User
from redpacket.users.dynamodb.notices import DynamoNotices
from redpacket.users.dynamodb.profiles import DynamoProfiles
from testing.builders import NOW_MS, a_claim, a_funding, a_packet
from testing.fakes import FakeClock, FakeDynamo, FakeLogger, FakeQueue
from testing.in_memory_system import one_by_one
from testing.platform.fake_tables import TABLE_NAMES
from testing.platform.units import Indexes, MeteredDynamo

HOST_ID = "5f0c8f5e-{:04d}-4b1e-9a53-0c4a3d2f1b6a"
"""Format of host ids that are as long as a Cognito subject."""

PAGE = 50
"""Claims on a record page."""


def a_person(number: int) -> User:
    """Return a user whose token has a nickname of six Chinese characters."""
    host_id = HOST_ID.format(number)
    return User(PUBLISHED_USER_IDS.id_of(host_id), "恭喜发财万事", host_id)


@dataclass(frozen=True, slots=True)
class Claims:
    """DynamoDB units of one claim: to make the claim durable, and to settle it.

    *end_write_units* and *notice_write_units* count once per packet, for its end and its notices.
    """

    claim_write_units: float
    settle_write_units: float
    settle_read_units: float
    end_write_units: float = 0.0
    end_read_units: float = 0.0
    notice_write_units: float = 0.0

    def write_units(self, shares_per_packet: float) -> float:
        """Return a claim's write units, with its part of the packet's end but without notices."""
        return (
            self.claim_write_units
            + self.settle_write_units
            + self.end_write_units / shares_per_packet
        )

    def read_units(self, shares_per_packet: float) -> float:
        """Return the read units of settling a claim, with its part of the packet's end."""
        return self.settle_read_units + self.end_read_units / shares_per_packet


class Till:
    """Adapters of the ledger, with the calls that benches make."""

    def __init__(self, dynamo: Dynamo, *, has_receipts: bool = False) -> None:
        self.packets = DynamoPackets(dynamo)
        self.claims = DynamoClaims(dynamo)
        self.pages = DynamoPages(dynamo)
        self.notices = DynamoNotices(dynamo)
        self.profiles = DynamoProfiles(dynamo, PUBLISHED_USER_IDS.id_of)
        self.deposits = DynamoDeposits(dynamo)
        self.funding = DynamoFunding(dynamo)
        self.ledger = DynamoLedger(dynamo, has_receipts=has_receipts)

    def send(self, count: int, sender_no: int = 0, **changes: Any) -> Packet:
        """Fund a packet of *count* shares."""
        packet = a_packet(100 * count, count, sender=a_person(sender_no), **changes)
        account, total_fen = user_account(packet.sender.user_id), packet.terms.total_fen
        self.deposits.deposit(
            Transfer(packet.packet_id, TransferKind.DEPOSIT, DEPOSITS, account, total_fen, NOW_MS),
            Request("operator", packet.packet_id, "body"),
        )
        self.funding.fund(packet, a_funding(packet), Request("s", packet.packet_id, "body"))
        self.packets.mark_loaded(packet)
        return packet

    def claim(
        self,
        packet: Packet,
        numbers: Iterable[int],
        quota: Quota | None = None,
        *,
        user_from: int = 0,
        **changes: Any,
    ) -> list[Share]:
        """Make claims durable, each by a different user. User numbers start after *user_from*."""
        last_no = packet.terms.count - shard_count(packet.packet_id)
        shares = [
            replace(
                a_claim(packet, number, "", is_last=number > last_no, **changes),
                claimer=a_person(user_from + number),
            )
            for number in numbers
        ]
        for share in shares:
            self.claims.record_claim(share, quota)
        return shares


class MeteredTill(Till):
    """In-memory ledger whose units are counted."""

    def __init__(self, indexes: Indexes, *, has_receipts: bool = False) -> None:
        self.meter = MeteredDynamo(FakeDynamo(), indexes=indexes)
        super().__init__(Dynamo(lambda: self.meter, TABLE_NAMES), has_receipts=has_receipts)

    def send(self, count: int, sender_no: int = 0, **changes: Any) -> Packet:
        """Fund a packet, and reset the counts."""
        packet = super().send(count, sender_no, **changes)
        self.meter.forget()
        return packet

    def settle(self, refs: Sequence[ShareRef]) -> None:
        """Settle claims like one invocation of the payout function."""
        ports = SettlePorts(
            ledger=self.ledger,
            packets=self.packets,
            pages=self.pages,
            payouts=FakeQueue(),
            clock=FakeClock(),
            logger=FakeLogger(),
            in_parallel=one_by_one,
        )
        assert not settle_claims(refs, ports=ports)

    def announce(self, packet: Packet) -> None:
        """Store the notices of a closed packet."""
        closed = self.packets.find_packet(packet.packet_id)
        assert closed
        for notice in notices_of(Change(packet, closed)):
            self.notices.put(notice)

    def written(self) -> float:
        """Return the write units since the last count."""
        units = self.meter.written.total()
        self.meter.written.clear()
        return units

    def read(self) -> float:
        """Return the read units since the last count."""
        units = self.meter.units
        self.meter.reads.clear()
        return units


def count_claims(
    indexes: Indexes,
    shares_per_packet: int = 10,
    *,
    has_quota: bool = False,
    has_receipts: bool = False,
) -> Claims:
    """Count the DynamoDB units of an emptied packet's claims and of the packet's end."""
    till = MeteredTill(indexes, has_receipts=has_receipts)
    packet = till.send(shares_per_packet)
    shares = till.claim(
        packet, range(1, shares_per_packet + 1), Quota("rain", 9) if has_quota else None
    )
    claiming = till.written()
    till.read()
    others, last = shares[:-1], shares[-1]
    till.settle([share.ref for share in others])
    each, read_each = till.written() / len(others), till.read() / len(others)
    till.settle([last.ref])
    end_write_units, end_read_units = till.written() - each, till.read() - read_each
    till.announce(packet)
    return Claims(
        claim_write_units=claiming / len(shares),
        settle_write_units=each,
        settle_read_units=read_each,
        end_write_units=end_write_units,
        end_read_units=end_read_units,
        notice_write_units=till.written(),
    )


def hot_row_units(indexes: Indexes, count: int = 200) -> float:
    """Return the write units per claim of the row that all settlements of one packet update."""
    till = MeteredTill(indexes)
    packet = till.send(count)
    shares = till.claim(packet, range(1, count))
    till.meter.forget()
    till.settle([share.ref for share in shares])
    return till.meter.of_rows["settled"] / len(shares)


@dataclass(frozen=True, slots=True)
class RecordReads:
    """Read units of a record page, with those of its profiles."""

    page: float
    profiles: float

    @property
    def together(self) -> float:
        """Read units of the page in a process without cached profiles."""
        return self.page + self.profiles


def record_reads(
    indexes: Indexes, count: int, claimed: int, viewer: User | None = None
) -> RecordReads:
    """Count the read units of a record page. If all shares are claimed, the packet closes first."""
    till = MeteredTill(indexes)
    packet = till.send(count)
    shares = till.claim(packet, range(1, claimed + 1))
    till.settle([share.ref for share in shares])
    till.read()
    record = read_record(
        packet.packet_id, viewer, after_no=0, limit=PAGE, packets=till.packets, pages=till.pages
    )
    page = till.read()
    till.profiles.list_profiles([claim.claimer.user_id for claim in record.claims if claim.claimer])
    return RecordReads(page, till.read())
