"""What a reconciliation takes for each million claims of one packet, by a million users.

make bench-reconcile

The real flow and adapters over tables that are made up page by page, 1 MB each, as wire JSON that
is parsed as on AWS; what making them takes is not counted. Every claim has its fate, taker,
receipt, balance, entry and count. Each size runs in a process of its own, whose peak memory is that
size's, in invocations of a minute, one of which is killed. The last line is JSON.
"""

from __future__ import annotations

import argparse
import json
import resource
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from multiprocessing import get_context
from typing import Any

from redpacket.adapters.dynamo import campaign_keys, items, keys
from redpacket.adapters.dynamo.books import entry_row, receipt_row
from redpacket.adapters.dynamo.campaign_items import plan_row
from redpacket.adapters.dynamo.client import Dynamo, Row, from_wire, to_wire
from redpacket.adapters.dynamo.commitments import DynamoCommitments
from redpacket.adapters.dynamo.draws import DynamoDraws
from redpacket.adapters.dynamo.ledger import DynamoLedger
from redpacket.adapters.dynamo.log import DynamoLog
from redpacket.adapters.dynamo.packets import DynamoPackets
from redpacket.adapters.dynamo.rounds import DynamoRounds
from redpacket.adapters.dynamo.runs import DynamoRuns
from redpacket.adapters.dynamo.shown_items import shown_row
from redpacket.adapters.dynamo.tables import DynamoTables
from redpacket.domain.campaign import Campaign
from redpacket.domain.checks.postings import sent_entry, settled_entries
from redpacket.domain.claim import Fate, ShareFate
from redpacket.domain.ledger import DEPOSITS, Entry, Receipt, TransferKind, user_account
from redpacket.domain.packet import Kind, PacketEnd, PacketStatus, Person, Rules
from redpacket.domain.split import Split, Terms
from redpacket.flows.reconciliation.compare_rows import ReconcilePorts
from redpacket.flows.reconciliation.reconcile import LEASE_MS, Reconciliation, reconcile
from redpacket.ports.reconciliation import Table
from testing.builders import NOW_MS, a_campaign, a_packet, a_packet_id
from testing.fakes import FakeClaimCache, FakeClock, FakeDeadLetters, FakeDynamo, FakeJournal

SIZES = (10_000, 1_000_000)
PARTS = 50
INVOCATION_S = 60
KILLED = 2
"""Which invocation is killed on its way."""

PAGE_BYTES = 1 << 20
UNITS_PER_PAGE = PAGE_BYTES // 4096

Made = Callable[[int], list[Row]]
"""Makes the rows of the user of a number; those of user 0 are all that is there once."""


class Killed(BaseException):
    """Raised to simulate a Lambda that is killed."""


class MadeUp(FakeDynamo):
    """A DynamoDB client whose larger tables are made where they are scanned."""

    def __init__(self, made: dict[str, Made], count: int) -> None:
        super().__init__()
        self.made = made
        self.count = count
        self.making_s = 0.0
        self.page_count = 0
        self.row_count = 0
        self.before_page: Callable[[], None] = lambda: None
        self._rows_per_page: dict[str, int] = {}

    def scan(self, *, TableName: str, **options: Any) -> dict[str, Any]:  # noqa: ANN401, N803
        """Return a page, which is made now if it is one of a large table."""
        self.before_page()
        self.page_count += 1
        if TableName not in self.made:
            return super().scan(TableName=TableName, **options)
        began_s = time.process_time()
        made = self.made[TableName]
        users = self._users_per_page(TableName)
        first = int(options.get("ExclusiveStartKey", {"at": "0"})["at"])
        last = min(first + users, self.count + 1)
        rows = [to_wire(row) for number in range(first, last) for row in made(number)]
        self.row_count += len(rows)
        text = json.dumps(rows)
        del rows
        self.making_s += time.process_time() - began_s
        page: dict[str, Any] = {"Items": json.loads(text)}
        if last <= self.count:
            page["LastEvaluatedKey"] = {"at": str(last)}
        return page

    def _users_per_page(self, table: str) -> int:
        if table not in self._rows_per_page:
            size = sum(_bytes_of(row) for row in self.made[table](1))
            self._rows_per_page[table] = max(1, PAGE_BYTES // size)
        return self._rows_per_page[table]


def _bytes_of(row: Row) -> int:
    """Return an item's size as DynamoDB counts it, numbers as half of their digits."""
    return sum(
        len(name) + (len(str(value)) // 2 + 1 if isinstance(value, int) else len(value))
        for name, value in row.items()
    )


def _tables(count: int) -> MadeUp:
    """Return the tables of a campaign with one packet, all of whose shares are claimed and paid."""
    campaign = a_campaign(campaign_id="rain", budget_fen=count, budget_left_fen=0)
    terms = Terms(Split.EQUAL, count, count, 1, 20_000, 1, b"a seed of 16 b..")
    packet = replace(
        a_packet(),
        packet_id=a_packet_id(PARTS),
        kind=Kind.EQUAL,
        terms=terms,
        rules=Rules(campaign_id=campaign.campaign_id),
        status=PacketStatus.CLOSED,
        closed_at_ms=NOW_MS + 60_000,
        end=PacketEnd(claimed_count=count, claimed_fen=count),
    )
    sender = user_account(packet.sender.user_id)
    year = "2026"

    def share(number: int) -> ShareFate:
        taker = Person(f"3f2504e0-4f89-11d3-9a0c-{number:012d}", f"用户{number}")
        return ShareFate(
            packet.packet_id,
            number,
            Fate.CLAIMED,
            1,
            NOW_MS + 1_000,
            taker,
            settled_at_ms=NOW_MS + 2_000,
        )

    def accounts(number: int) -> list[Row]:
        if not number:
            deposit = Entry(DEPOSITS, "deposit:1", TransferKind.DEPOSIT, -count, sender, NOW_MS)
            other = replace(deposit, account=sender, amount_fen=count, counterparty=DEPOSITS)
            sums = {f"sent_fen_{year}": count, f"sent_count_{year}": 1}
            return [
                {**keys.account(DEPOSITS), "balance_fen": -count},
                entry_row(deposit),
                {**keys.account(sender), "balance_fen": 0, **sums},
                entry_row(other),
                entry_row(sent_entry(packet)),
            ]
        (entry,) = settled_entries([share(number)])
        sums = {f"received_fen_{year}": 1, f"received_count_{year}": 1}
        receipt = Receipt(packet.packet_id, number, entry.account, 1, entry.at_ms)
        return [
            {**keys.account(entry.account), "balance_fen": 1, **sums},
            entry_row(entry),
            receipt_row(receipt),
        ]

    def shares(number: int) -> list[Row]:
        if not number:
            return []
        fate = share(number)
        row = items.share_row(fate)
        done = {name: value for name, value in row.items() if not name.startswith("work")}
        user_id = fate.taker.user_id if fate.taker else ""
        return [{**done, "settled_at_ms": NOW_MS + 2_000}, items.taker_row(fate, user_id)]

    def quotas(number: int) -> list[Row]:
        return [_count_row(number, share)] if number else []

    made = MadeUp({"accounts": accounts, "shares": shares, "quotas": quotas}, count)
    made.batch_get_item = _batch(made, share)  # type: ignore[method-assign]
    closed: dict[str, Any] = {
        **items.packet_row(packet),
        **items.end_row(packet.end or PacketEnd()),
        "closed_at_ms": NOW_MS + 60_000,
    }
    kept: list[tuple[str, dict[str, Any]]] = [
        ("packets", closed),
        ("campaigns", shown_row(campaign, "0" * 64)),
        ("campaigns", _campaign_row(campaign)),
        (
            "campaigns",
            {
                **campaign_keys.campaign_packet("rain", packet.packet_id),
                "total_fen": count,
                "created_at_ms": packet.created_at_ms,
            },
        ),
    ]
    for table, row in kept:
        made.put_item(TableName=table, Item=to_wire(row))
    return made


def _campaign_row(campaign: Campaign) -> dict[str, Any]:
    money = {"budget_fen": campaign.budget_fen, "budget_left_fen": 0, "version": 1}
    return {**campaign_keys.campaign("rain"), **plan_row(campaign), **money}


def _count_row(number: int, share: Callable[[int], ShareFate]) -> Row:
    fate = share(number)
    user_id = fate.taker.user_id if fate.taker else ""
    first = {"claim_count": 1, "first_at_ms": fate.decided_at_ms}
    return {**keys.claim_count("rain", user_id), **first}


def _batch(made: MadeUp, share: Callable[[int], ShareFate]) -> Callable[..., dict[str, Any]]:
    """Return a BatchGetItem that makes counts; all else is asked for in the tables."""
    plain = made.batch_get_item

    def batch_get_item(*, RequestItems: dict[str, Any]) -> dict[str, Any]:  # noqa: N803
        ((table, asked),) = RequestItems.items()
        if table != "quotas":
            return plain(RequestItems=RequestItems)
        began_s = time.process_time()
        named = [str(from_wire(key)["pk"]) for key in asked["Keys"]]
        rows = [to_wire(_count_row(int(name.rpartition("-")[2]), share)) for name in named]
        text = json.dumps({"Responses": {table: rows}})
        made.making_s += time.process_time() - began_s
        found: dict[str, Any] = json.loads(text)
        return found

    return batch_get_item


class WallClock(FakeClock):
    """Goes as the processor of this process does."""

    def now_ms(self) -> int:
        """Return the time."""
        return self.at_ms + int(time.process_time() * 1000)


def measure(count: int) -> dict[str, Any]:
    """Reconcile a ledger of *count* claims; return what it took."""
    base_mib = _peak_mib()
    made = _tables(count)
    dynamo = Dynamo(lambda: made)
    # An hour later nothing is on its way any more.
    clock = WallClock(NOW_MS + 3_600_000)
    packets = DynamoPackets(dynamo, "packets", "shares")
    ports = ReconcilePorts(
        tables=DynamoTables(dynamo, {table: table.value for table in Table}),
        packets=packets,
        ledger=DynamoLedger(dynamo, "accounts", "packets", "shares"),
        draws=DynamoDraws(dynamo, "campaigns", "shares", "draws"),
        rounds=DynamoRounds(dynamo, "transparency"),
        claim_cache=FakeClaimCache(clock),
        log_book=DynamoLog(dynamo, "log"),
        commitments=DynamoCommitments(dynamo, "commitments"),
        clock=clock,
        journal=FakeJournal(),
    )
    began_s = time.process_time()
    invocations = 0
    killed_rows = 0
    while True:
        invocations += 1
        pages_before = made.page_count

        def kill_on_the_way(before: int = pages_before) -> None:
            if made.page_count > before + 40:
                raise Killed

        is_killed = invocations == KILLED
        made.before_page = kill_on_the_way if is_killed else lambda: None
        try:
            found = _go_on(ports, dynamo, invocations)
        except Killed:
            killed_rows = made.row_count
            clock.at_ms += LEASE_MS + 1
            continue
        if found.is_over:
            break
    cpu_s = time.process_time() - began_s - made.making_s
    assert found.is_complete, found
    assert found.differences == [], found.differences[:3]
    assert found.packet_count == 1
    assert found.account_count == count + 2
    return {
        "claims": count,
        "rows": found.row_count,
        "rows_read": made.row_count,
        "invocations": invocations,
        "was_killed": bool(killed_rows),
        "cpu_s": round(cpu_s, 1),
        "rows_per_s": round(made.row_count / cpu_s),
        "read_units": made.page_count * UNITS_PER_PAGE,
        "state_kb": _state_kb(dynamo),
        "peak_rss_mib": _peak_mib(),
        "base_rss_mib": base_mib,
    }


def _go_on(ports: ReconcilePorts, dynamo: Dynamo, number: int) -> Reconciliation:
    return reconcile(
        ports=ports,
        runs=DynamoRuns(dynamo, "reconciliation"),
        dead_letters=FakeDeadLetters(0),
        holder=f"invocation-{number}",
        new_key=lambda: "5e" * 16,
        may_begin=True,
        stop_at_ms=ports.clock.now_ms() + INVOCATION_S * 1000,
    )


def _state_kb(dynamo: Dynamo) -> int:
    saved = DynamoRuns(dynamo, "reconciliation").find()
    return round((len(saved.state) + sum(map(len, saved.sums.values()))) / 1024)


def _peak_mib() -> int:
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


def main() -> None:
    """Measure, and print; the last line is JSON."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    line: dict[str, Any] = {}
    for size in parser.parse_args().sizes:
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
            found = pool.submit(measure, size).result()
        print(found, flush=True)
        line |= {f"{name}_{size}": value for name, value in found.items()}
    small, large = min(SIZES), max(SIZES)
    if f"peak_rss_mib_{large}" in line and f"peak_rss_mib_{small}" in line:
        line["grown_mib"] = line[f"peak_rss_mib_{large}"] - line[f"peak_rss_mib_{small}"]
    print(json.dumps(line))


if __name__ == "__main__":
    main()
