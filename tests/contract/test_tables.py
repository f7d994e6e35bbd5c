"""One suite for scans and for the runs' row on the fake and on the AWS emulator."""

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest

from redpacket.campaigns.dynamodb.campaigns import DynamoCampaigns
from redpacket.campaigns.model import DrawRules
from redpacket.ledger.dynamodb import keys
from redpacket.ledger.model import Entry, Receipt, TransferKind, user_account
from redpacket.lottery.dynamodb.draws import DynamoDraws
from redpacket.lottery.model.lottery import Draw, HelpStatus, RecordDrawStatus
from redpacket.operations.dynamodb import keys as operator_keys
from redpacket.packets.model.claim import Quota, RecordStatus, Share, claimer_of
from redpacket.packets.model.packet import Packet, Rules
from redpacket.platform.dynamodb.client import Dynamo, to_wire
from redpacket.reconciliation.checks.facts import PacketFacts, PlayerDay, Unit
from redpacket.reconciliation.checks.postings import expected_receipts
from redpacket.reconciliation.dynamodb.runs import DynamoRuns
from redpacket.reconciliation.dynamodb.tables import DynamoTables
from redpacket.reconciliation.lines import owner_of
from redpacket.reconciliation.ports import SavedRun, Table
from redpacket.reconciliation.scanned import (
    Balance,
    ClaimCount,
    HelpGiven,
    Member,
    Played,
    Scanned,
    UnitWon,
    UnreadableRow,
    WonOnce,
)
from testing.builders import NOW_MS, a_campaign, a_claim, a_packet, a_prize, a_user_id
from testing.checks import expected_entries
from tests.contract.tables import Books, a_request


@pytest.fixture
def tables(books: Books) -> DynamoTables:
    return DynamoTables(Dynamo(lambda: books.client), {table: table.value for table in Table})


def _all(tables: DynamoTables, table: Table) -> list[Scanned]:
    rows, place = tables.read(table, None)
    while place:
        more, place = tables.read(table, place)
        rows += more
    return rows


@contextmanager
def _without(books: Books, packet: Packet) -> Iterator[None]:
    key = to_wire(keys.packet(packet.packet_id))
    row = books.client.get_item(TableName="packets", Key=key, ConsistentRead=True)["Item"]
    books.client.delete_item(TableName="packets", Key=key)
    yield
    books.client.put_item(TableName="packets", Item=row)


@pytest.mark.parametrize("parts", [1, 3])
def test_scans_bring_packets_takers_and_shares_of_no_packet(
    books: Books, tables: DynamoTables, parts: int
) -> None:
    packet, lost = books.sent(parts=parts), books.sent(parts=parts)
    share = books.claimed(packet, 1)
    stray = books.claimed(lost, 2)
    assert books.refunded(packet, 3)
    (refund,) = [one for one in books.packets.list_shares(packet.packet_id) if not one.taker]

    with _without(books, lost):
        packets = [one for one in _all(tables, Table.PACKETS) if isinstance(one, Packet)]
        shares = _all(tables, Table.SHARES)

    ours = {packet.packet_id, lost.packet_id}
    assert [one for one in packets if one.packet_id in ours] == [packet]
    fates = [one for one in shares if isinstance(one, Share) and one.packet_id in ours]
    assert sorted(fates, key=str) == sorted([share, refund, stray], key=str)
    assert {claimer_of(share), claimer_of(stray)} <= {one for one in shares if owner_of(one)}


def test_scans_bring_balances_entries_and_receipts(books: Books, tables: DynamoTables) -> None:
    packet = books.sent()
    books.settled(packet, 1)
    assert books.refunded(packet, 3, 4)
    facts = PacketFacts(packet, books.packets.list_shares(packet.packet_id))
    accounts = {entry.account for entry in expected_entries(facts)}

    found = _all(tables, Table.ACCOUNTS)

    balances = {one.account: one for one in found if isinstance(one, Balance)}
    for account in accounts:
        assert balances[account].balance_fen == books.ledger.balance_fen(account)
    sender = balances[user_account(packet.sender.user_id)]
    assert sender.kept == {"sent_fen_2026": 1000, "sent_count_2026": 1}
    entries = [one for one in found if isinstance(one, Entry) and one.account in accounts]
    receipts = [
        one for one in found if isinstance(one, Receipt) and one.packet_id == packet.packet_id
    ]
    deposits = [entry for entry in entries if entry.kind is TransferKind.DEPOSIT]
    assert sorted(entries, key=str) == sorted([*deposits, *expected_entries(facts)], key=str)
    assert sorted(receipts, key=str) == sorted(expected_receipts(facts), key=str)


def test_rows_of_one_partition_follow_each_other(books: Books, tables: DynamoTables) -> None:
    for _ in range(5):
        packet = books.sent()
        books.settled(packet, 1, "ann")

    owners = [owner for row in _all(tables, Table.ACCOUNTS) if (owner := owner_of(row))]

    changes = [one for one, other in itertools.pairwise(owners) if one != other]
    assert len(changes) == len(set(owners)) - 1


def test_a_partition_is_what_a_scan_brings_of_it(books: Books, tables: DynamoTables) -> None:
    user_id = a_user_id()
    for _ in range(2):
        books.settled(books.sent(), 1, user_id)

    for table, owner in ((Table.ACCOUNTS, user_account(user_id)), (Table.SHARES, user_id)):
        scanned = [row for row in _all(tables, table) if owner_of(row) == (owner,)]
        assert list(tables.partition(table, (owner,))) == scanned
        assert len(scanned) == (3 if table is Table.ACCOUNTS else 2)


@pytest.mark.parametrize(
    ("table", "partition", "sort_key"),
    [
        (Table.SHARES, "shares#{}#0", "share#0000001"),
        # What was fixed of a draw that waited for a round of its own: no such draw is known.
        (Table.DRAWS, "user#spring#{}", "begun#20261122#1"),
    ],
)
def test_a_row_that_is_not_readable_is_named(
    books: Books, tables: DynamoTables, table: Table, partition: str, sort_key: str
) -> None:
    key = {"pk": partition.format(a_user_id()), "sk": sort_key}
    row = {**key, "fate": "eaten", "day": "20261122"}
    books.client.put_item(TableName=table.value, Item=to_wire(row))

    unreadable = [one for one in _all(tables, table) if isinstance(one, UnreadableRow)]

    assert UnreadableRow(f"{key['pk']} {key['sk']}") in unreadable
    books.client.delete_item(TableName=table.value, Key=to_wire(key))


def test_counts_know_first_claims_and_budgets_packets(books: Books, tables: DynamoTables) -> None:
    campaign, user_id = a_campaign(budget_left_fen=9_000), a_user_id()
    campaigns = DynamoCampaigns(Dynamo(lambda: books.client), "campaigns")
    assert campaigns.create(campaign)
    campaign_id = campaign.campaign_id
    packets = [books.sent(rules=Rules(campaign_id=campaign_id)) for _ in range(2)]
    for at_ms, packet in zip((NOW_MS + 50, NOW_MS + 70), packets, strict=True):
        claim = a_claim(packet, 1, user_id, decided_at_ms=at_ms)
        recorded = books.claims.record_claim(claim, Quota(campaign_id, 5))
        assert recorded is RecordStatus.RECORDED

    count = ClaimCount(campaign_id, user_id, 2, NOW_MS + 50)
    members = [Member(campaign_id, one.packet_id, 1000, one.created_at_ms) for one in packets]
    assert count in _all(tables, Table.QUOTAS)
    pairs = [(campaign_id, user_id), (campaign_id, "nobody")]
    assert tables.count_claims(pairs) == {(campaign_id, user_id): 2}
    names = [(campaign_id, one.packet_id) for one in (*packets, a_packet())]
    assert sorted(tables.list_members(names), key=str) == sorted(members, key=str)
    rows = list(tables.partition(Table.CAMPAIGNS, (campaign_id,)))
    assert [row for row in rows if isinstance(row, Member)] == sorted(members, key=str)
    (left,) = [row for row in rows if row == replace(campaign, budget_left_fen=7_000)]
    assert left in _all(tables, Table.CAMPAIGNS)


def test_draws_come_with_units_players_wins_and_helps(books: Books, tables: DynamoTables) -> None:
    user_id, campaign_id = a_user_id(), a_campaign().campaign_id
    draws = DynamoDraws(Dynamo(lambda: books.client), "campaigns", "shares", "draws")
    prize = a_prize(campaign_id, per_day=3, once_per_user=True)
    draw = Draw(campaign_id, user_id, "d" * 32, "20261122", 1, NOW_MS, 7, "cup:1|0", 1, prize, 4, 2)
    assert draws.record_draw(draw, DrawRules(5, 3), "key") is RecordDrawStatus.RECORDED
    helped = draws.record_help(campaign_id, user_id, "friend", "20261122", DrawRules(), NOW_MS)
    assert helped is HelpStatus.HELPED

    units = [Unit("cup", 4, draw.draw_id), Unit("cup", 2, draw.draw_id, "20261122")]
    won = [UnitWon(campaign_id, unit, user_id) for unit in units]
    player = PlayerDay(user_id, "20261122", 0, 1, 1, 5, 3)
    assert set(tables.list_units(campaign_id, [*units, Unit("cup", 5, "x")])) == set(won)
    assert tables.list_draws([(campaign_id, user_id, draw.draw_id)]) == [draw]
    assert set(tables.partition(Table.DRAWS, (campaign_id, user_id))) == {
        draw,
        Played(campaign_id, player),
        WonOnce(campaign_id, user_id, "cup", draw.draw_id),
        HelpGiven(campaign_id, user_id, "20261122"),
    }
    assert set(won) <= set(_all(tables, Table.DRAWS))


# ---- the runs' row


@pytest.fixture
def runs(books: Books) -> DynamoRuns:
    key: Any = to_wire(operator_keys.reconciliation())
    if books.client.get_item(TableName="reconciliation", Key=key, ConsistentRead=True).get("Item"):
        books.client.delete_item(TableName="reconciliation", Key=key)
    return DynamoRuns(Dynamo(lambda: books.client), "reconciliation")


def test_one_holds_the_run_at_a_time(runs: DynamoRuns) -> None:
    assert runs.find() == SavedRun()
    assert runs.take("one", 1_000, 2_000) == SavedRun()

    assert runs.take("two", 2_000, 3_000) is None
    # Whose answer was lost asks again.
    assert runs.take("one", 1_500, 2_000) == SavedRun()
    assert runs.take("two", 2_001, 3_000) == SavedRun()
    assert not runs.hold("one", 9_000)
    assert runs.hold("two", 4_000)
    assert runs.take("one", 4_000, 5_000) is None


def test_what_a_run_saves_its_next_holder_finds(runs: DynamoRuns) -> None:
    saved = SavedRun('{"step":3}', {"balance": bytes(range(256)), "fresh": b"\0"})
    runs.take("one", 1_000, 2_000)

    assert runs.save("one", saved, 0)
    assert runs.find() == saved
    assert runs.take("two", 1_001, 2_000) == saved
    assert not runs.save("one", SavedRun(), 2_000)
    assert runs.find() == saved


def test_requests_of_senders_are_not_compared(books: Books, tables: DynamoTables) -> None:
    request = a_request(a_user_id())
    assert books.funding.find_sent(request) is None
    packet = books.sent()

    rows = _all(tables, Table.PACKETS)

    assert packet in rows
    assert all(isinstance(row, Packet | UnreadableRow) for row in rows)
