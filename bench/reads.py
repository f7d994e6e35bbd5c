"""Ledger reads that users cause: strong reads in a rush, and read units of a page.

The real use cases and adapters run against an in-memory DynamoDB behind a meter
(testing/platform/units.py). A figure is the maximum of one request over all cases or, for
concurrent users, the total of their requests.

Figures of record pages include reads of packets, shares, claimers, and sums. Each process caches
profiles for ten seconds, so a separate figure counts reads of profiles that are not cached.
"""

import contextlib
import secrets
import time
from collections import defaultdict
from dataclasses import replace
from http import HTTPStatus

import httpx

from bench.records import STRANGER, Book, a_person
from redpacket.ledger.dynamodb import keys
from redpacket.ledger.dynamodb.books import entry_row
from redpacket.ledger.model import Entry, TransferKind, packet_account, settle_id, user_account
from redpacket.lottery.dynamodb import keys as draw_keys
from redpacket.lottery.model.lottery import (
    Prize,
    PrizeKind,
    PrizeStock,
    draw_day,
)
from redpacket.lottery.use_cases.cached_lotteries import KEPT_MS
from redpacket.packets.dynamodb.items import packet_row
from redpacket.packets.dynamodb.pages import DynamoPages
from redpacket.packets.errors import PacketNotFound
from redpacket.packets.use_cases.read_records import PAGE_SIZE, list_received
from redpacket.platform.dynamodb.client import Dynamo, put, to_wire
from testing.builders import NOW_MS, a_campaign, a_packet
from testing.in_memory_system import InMemorySystem, process_on
from testing.lottery.prizes import real_prizes, write_prize
from testing.packets.crowd import CROWD, a_crowded_town, count_reads, rush
from testing.platform.fake_tables import TABLE_NAMES
from testing.platform.handlers import HandlerTransport, handlers, handlers_of
from testing.platform.servers import some_servers
from testing.platform.units import MeteredDynamo

CASES = (
    # Packets: number of shares, of claimed shares, and of shards.
    *((10, claimed, 1) for claimed in (0, 4, 10)),
    *((100, claimed, 1) for claimed in (0, 57, 100)),
    *((101, claimed, 1) for claimed in (99, 101)),
    *((8_000, claimed, 1) for claimed in (300, 8_000)),
    *((20_000, claimed, 1) for claimed in (12_345, 20_000)),
    # In 40 partitions, 680 claims are 17 in each, and 840 are 21. A block of 4 KB has 19 claims.
    *((100_000, claimed, 5) for claimed in (0, 7, 680, 840, 100_000)),
)
UNSETTLED = ((100, 60, 1), (8_000, 3_000, 1), (100_000, 840, 5))
"""Packets with longer rows, because their claims are not settled."""

UNKNOWN_IDS = 300
RECEIVED = 20_000
WIN_COUNT = 20_000
CAMPAIGN_ID = "spring-2027"
GETS = 5
"""Number of reads of a page, each by a new process, and then again by a running process."""


def measure() -> dict[str, float]:
    """Return the figures of this bench."""
    return {
        **crowd_strong_reads(),
        "unknown_id_strong_reads": unknown_id_strong_reads(),
        **record_rcus(),
        "campaign_rcu_max": campaign_rcu_max(),
        "received_rcu_max": received_rcu_max(),
    }


def crowd_strong_reads() -> dict[str, float]:
    """Return the strong reads of 200 threads after a cache flush, and after a packet's expiry."""
    flush: list[int] = []
    with some_servers() as start:
        server = start()
        for count in (5, 100, 100):
            system = a_crowded_town(server.port)
            packet = system.send(count=count)
            server.admin.flushall()
            meter = count_reads(system)
            answers = rush(system, packet)
            assert answers["claimed"] == count
            flush.append(meter.strong_count)
        # Flush the cache, because every system generates the same packet ids.
        server.admin.flushall()
        system = a_crowded_town(server.port)
        packet = system.send(life_ms=1)
        meter = count_reads(system)
        time.sleep(0.01)
        assert rush(system, packet) == {"packet_expired": CROWD}
        return {"flush_strong_reads": max(flush), "late_strong_reads": meter.strong_count}


def unknown_id_strong_reads() -> float:
    """Call grab and record routes with ids that lack a valid tag. Return the strong reads."""
    system = InMemorySystem()
    meter = MeteredDynamo(system.dynamo)
    system.stand_on(meter)
    with contextlib.suppress(PacketNotFound):
        system.grab(a_packet(), "ann")
    assert meter.strong_count, "an id with a right tag is looked up"
    meter.forget()
    routes = {key: name for name in ("grab", "records") for key in handlers()[name].operations}
    with (
        handlers_of(system),
        httpx.Client(transport=HandlerTransport({"sub": "stranger"})) as client,
    ):
        for method, path in (key.split() for key in routes if "{packet_id}" in key):
            for _ in range(UNKNOWN_IDS):
                url = "http://api" + path.replace("{packet_id}", secrets.token_urlsafe(23))
                assert client.request(method, url).status_code == HTTPStatus.NOT_FOUND
    return meter.strong_count


def record_rcus() -> dict[str, float]:
    """Return the maximum read units of open and final record pages, of thanks, and of profiles."""
    largest: dict[str, float] = defaultdict(float)
    for count, claimed, shards in CASES:
        # In each shard, the cache assigns shares in the order of their numbers.
        book = Book(count, range(1, claimed + 1), shards=shards)
        _view(book, "record_rcu", largest)
        if claimed < count:
            book.refund()
            _view(book, "record_rcu", largest)
        book.close()
        _view(book, "final_rcu", largest)
    for count, claimed, shards in UNSETTLED:
        book = Book(count, range(1, claimed + 1), shards=shards, is_settled=False)
        _view(book, "record_rcu", largest)
    return largest


def _view(book: Book, key: str, largest: dict[str, float]) -> None:
    for view in book.views():
        for name, units in (
            (f"{key}_max", view.page),
            (f"{key}_without_thanks_max", view.page - view.thanks),
            ("thanks_rcu_max", view.thanks),
            ("profile_rcu_max", view.profiles),
        ):
            largest[name] = max(largest[name], units)


def received_rcu_max() -> float:
    """Return the maximum read units for a page of a user's 20,000 received shares."""
    system = InMemorySystem()
    account = user_account(STRANGER.user_id)
    packets = [a_packet(greeting="恭喜发财，大吉大利", sender=a_person()) for _ in range(RECEIVED)]
    places_ms = range(NOW_MS, NOW_MS + RECEIVED * 60_000, 60_000)
    for packet, at_ms in zip(packets, places_ms, strict=True):
        entry = Entry(
            account,
            settle_id(packet.packet_id, 1),
            TransferKind.SETTLE,
            1_000,
            packet_account(packet.packet_id),
            at_ms + 700,
            placed_at_ms=at_ms,
        )
        for table, row in (("accounts", entry_row(entry)), ("packets", packet_row(packet))):
            system.dynamo.put_item(TableName=table, Item=to_wire(row))
    sums = {"balance_fen": 10**7, "received_fen_2026": 10**7, "received_count_2026": RECEIVED}
    system.dynamo.put_item(TableName="accounts", Item=to_wire({**keys.account(account), **sums}))
    meter = MeteredDynamo(system.dynamo)
    ledger = process_on(Dynamo(lambda: meter, TABLE_NAMES)).ledger
    pages = DynamoPages(Dynamo(lambda: meter, TABLE_NAMES))
    middle = RECEIVED // 2
    units = []
    begins = keys.claim_entry(account, places_ms[middle], packets[middle].packet_id, 1)["sk"]
    for begin in (None, begins):
        cursor: str | None = begin
        for _ in range(3):
            meter.forget()
            page = list_received(STRANGER.user_id, None, cursor, pages=pages, ledger=ledger)
            units.append(meter.units)
            assert (len(page.items), page.count) == (PAGE_SIZE, RECEIVED)
            cursor = page.next
    return max(units)


def campaign_rcu_max() -> float:
    """Return the maximum read units of a user's GET of a campaign, except the day's first GET."""
    return max(_campaign_rcus(real_prizes(CAMPAIGN_ID, 100))[1:])


def _campaign_rcus(prizes: list[Prize]) -> list[float]:
    """Return the read units of GETs: the day's first, by new processes, then by one process."""
    system = InMemorySystem()
    assert system.campaigns.create(a_campaign(campaign_id=CAMPAIGN_ID, title="新春好运大转盘"))
    for prize in prizes:
        goods = replace(prize, kind=PrizeKind.GOODS, packets=(), amount_fen=None, total=WIN_COUNT)
        write_prize(system.prizes, goods)
    _win(system, prizes)
    meter = MeteredDynamo(system.dynamo)
    system.prizes = system.prize_adapter(meter)
    units = []
    lasting = system.lotteries()
    for pages in [*(system.lotteries() for _ in range(GETS)), *([lasting] * GETS)]:
        meter.forget()
        shown = pages.get(CAMPAIGN_ID)
        units.append(meter.units)
        assert len(shown.snapshot.prizes) == len(prizes)
        assert shown.sold_out == {prizes[0].prize_id}
        assert shown.commitment
        system.pass_time(KEPT_MS)
    return units


def _win(system: InMemorySystem, prizes: list[Prize]) -> None:
    """Store every unit of the first prize as won, and load the lottery with this prize sold out."""
    first = prizes[0]
    write = system.dynamo.put_item
    for unit_no in range(1, WIN_COUNT + 1):
        unit = draw_keys.unit(CAMPAIGN_ID, first.prize_id, unit_no)
        won = put("draws", {**unit, "user_id": f"user-{unit_no}", "draw_id": f"{unit_no:032x}"})
        write(**won["Put"])
    snapshot = system.prizes.find_snapshot(CAMPAIGN_ID)
    assert snapshot
    day = draw_day(snapshot.campaign, system.clock.now_ms())
    system.draw_cache.load(snapshot, day, [PrizeStock(first.prize_id, durable_no=WIN_COUNT)])
