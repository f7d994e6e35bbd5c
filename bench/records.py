"""Packets of any size for the reads bench, and counted reads of their record pages."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from random import Random

from local.user_ids import PUBLISHED_USER_IDS
from redpacket.packets.dynamodb import items
from redpacket.packets.dynamodb.ledger import DynamoLedger
from redpacket.packets.dynamodb.packets import DynamoPackets
from redpacket.packets.dynamodb.pages import DynamoPages
from redpacket.packets.model.claim import Share, ShareStatus
from redpacket.packets.model.packet import PacketEnd, shard_count, shard_size
from redpacket.packets.ports import Settled
from redpacket.packets.split import amounts_fen
from redpacket.packets.use_cases.close_packet import EndPorts, close_if_ended, end_shard
from redpacket.packets.use_cases.read_records import Record, read_record
from redpacket.platform.dynamodb.client import Dynamo, Row, to_wire
from redpacket.platform.user import User
from redpacket.users.dynamodb.profiles import DynamoProfiles
from testing.builders import NOW_MS, a_packet, a_packet_id
from testing.fakes import FakeClock, FakeDynamo
from testing.platform.fake_tables import TABLE_NAMES
from testing.platform.units import MeteredDynamo

CLAIM_EVERY_MS = 3
PAGES_FOLLOWED = 2
LIMITS = (50, 100)
STRANGER = User(PUBLISHED_USER_IDS.id_of("stranger"))

_random = Random(20270129)  # noqa: S311 - the same takers in every run


def a_person() -> User:
    """Return a new user."""
    return User(PUBLISHED_USER_IDS.id_of(f"{_random.getrandbits(128):032x}"))


@dataclass(frozen=True, slots=True)
class Units:
    """Read units of a record page (including thanks), of its thanks, and of uncached profiles."""

    page: float
    thanks: float
    profiles: float


class Book:
    """Packet and the outcomes of its shares, in an in-memory ledger that counts reads."""

    def __init__(
        self, count: int, claimed: Iterable[int], *, shards: int = 1, is_settled: bool = True
    ) -> None:
        self._client = FakeDynamo()
        self.meter = MeteredDynamo(self._client)
        dynamo = Dynamo(lambda: self.meter, TABLE_NAMES)
        self.packets = DynamoPackets(dynamo)
        self.pages = DynamoPages(dynamo)
        self._profiles = DynamoProfiles(dynamo, PUBLISHED_USER_IDS.id_of)
        self._ledger = DynamoLedger(dynamo)
        self.packet = a_packet(
            100 * count,
            count,
            packet_id=a_packet_id(shards),
            sender=a_person(),
            greeting="恭喜发财，大吉大利，万事如意",
        )
        self._amounts_fen = amounts_fen(self.packet.terms)
        self._put("packets", items.packet_row(self.packet))
        self.claims = self._claim(claimed, is_settled=is_settled)
        if is_settled and not self.packet.is_small:
            sums = Settled(len(self.claims), sum(share.amount_fen for share in self.claims))
            self.pages.add_settled(self.packet.packet_id, sums)

    def refund(self) -> None:
        """Refund every share that is not claimed, as after the packet's expiry."""
        taken = {share.share_no for share in self.claims}
        for number in range(1, self.packet.terms.count + 1):
            if number not in taken:
                amount_fen = self._amounts_fen[number - 1]
                refund = Share(
                    self.packet.packet_id,
                    number,
                    ShareStatus.REFUNDED,
                    amount_fen,
                    self.packet.expires_at_ms,
                    refund_no=number,
                )
                self._put("shares", items.share_row(refund))

    def close(self) -> None:
        """Write the packet's end with the real use case."""
        end: PacketEnd | None = None
        clock, ledger = FakeClock(), self._ledger
        ports = EndPorts(ledger=ledger, packets=self.packets, pages=self.pages, clock=clock)
        for part in range(shard_count(self.packet.packet_id)):
            shares = self.packets.list_shard_shares(self.packet.packet_id, part)
            assert len(shares) == shard_size(self.packet, part)
            end = end_shard(self.packet, part, shares, ports)
        assert end
        assert close_if_ended(self.packet, end, ports)

    def views(self) -> Iterator[Units]:
        """Yield the read units of pages of both sizes: first, middle, and last pages."""
        claimers = [
            share.claimer
            for share in (*self.claims[len(self.claims) // 3 :][:1], *self.claims[-1:])
        ]
        for limit in LIMITS:
            for after_no in self._cursors(limit):
                for viewer in (STRANGER, *claimers):
                    yield self._view(after_no, limit, viewer)

    def _view(self, after_no: int, limit: int, viewer: User | None) -> Units:
        self.meter.forget()
        record = self._read(after_no, limit, viewer)
        page = self.meter.units
        quotas = TABLE_NAMES.quotas
        thanks = sum(read.units for read in self.meter.reads if read.table == quotas)
        assert (record.mine is None) == (viewer is STRANGER)
        claimers = [claim.claimer for claim in (*record.claims, record.luckiest) if claim]
        seen = [person.user_id for person in (*claimers, self.packet.sender, viewer) if person]
        self._profiles.list_profiles(seen)
        return Units(page, thanks, self.meter.units - page)

    def _cursors(self, limit: int) -> list[int]:
        """Return positions: the start, the cursors of two pages, and the numbers of some claims."""
        cursors = [0]
        while len(cursors) <= PAGES_FOLLOWED:
            record = self._read(cursors[-1], limit, None)
            if record.next_no is None:
                break
            cursors.append(record.next_no)
        numbers = [share.share_no for share in self.claims]
        places = {len(numbers) // 2 + 7, len(numbers) - 2 * limit + 3, len(numbers) - 1}
        return cursors + [numbers[place] for place in places if 0 <= place < len(numbers)]

    def _read(self, after_no: int, limit: int, viewer: User | None) -> Record:
        return read_record(
            self.packet.packet_id,
            viewer,
            after_no=after_no,
            limit=limit,
            packets=self.packets,
            pages=self.pages,
        )

    def _claim(self, numbers: Iterable[int], *, is_settled: bool) -> list[Share]:
        claims = [
            Share(
                self.packet.packet_id,
                number,
                ShareStatus.CLAIMED,
                self._amounts_fen[number - 1],
                NOW_MS + CLAIM_EVERY_MS * number,
                a_person(),
            )
            for number in numbers
        ]
        for share in claims:
            row = items.share_row(share)
            if is_settled:
                del row["work_pk"], row["work_at_ms"]
                row["settled_at_ms"] = share.decided_at_ms + 700
            self._put("shares", row)
            assert share.claimer
            self._put("shares", items.claimer_row(share, share.claimer.user_id))
        return claims

    def _put(self, table: str, row: Row) -> None:
        self._client.put_item(TableName=table, Item=to_wire(row))
