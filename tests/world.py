"""Reads everything that a ledger holds, and runs every invariant over it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from redpacket.adapters import items, keys
from redpacket.adapters.dynamo import from_wire
from redpacket.adapters.dynamo_ledger import entry_of
from redpacket.domain.checks import (
    Difference,
    PacketFacts,
    Told,
    check_bounds,
    check_claim_counts,
    check_conservation,
    check_entries,
    check_packet,
    check_packet_exists,
    check_takers,
    check_told,
)
from redpacket.domain.claim import ShareFate, Taker
from redpacket.domain.ledger import Entry, escrow_account


@dataclass(frozen=True, slots=True)
class World:
    """The whole ledger at one moment of rest."""

    balances_fen: dict[str, int]
    entries: list[Entry]
    packets: list[PacketFacts]
    shares: list[ShareFate]
    takers: list[Taker]
    claim_counts: dict[tuple[str, str], int]

    def differences(self, told: Iterable[Told] = ()) -> list[Difference]:
        """Return every broken invariant; *told* are the answers that users got."""
        told = list(told)
        found = check_conservation(self.balances_fen)
        found += check_entries(self.balances_fen, self.entries)
        found += check_bounds(self.balances_fen, self.entries)
        found += check_packet_exists(
            self.shares, {facts.packet.packet_id for facts in self.packets}
        )
        found += check_takers(self.shares, self.takers)
        found += check_claim_counts(self.packets, self.claim_counts)
        for facts in self.packets:
            found += check_packet(facts) + check_told(facts, told)
        return found


def read_world(
    dynamodb: Any, accounts_table: str, packets_table: str, quotas_table: str | None = None
) -> World:
    """Scan the tables with boto3's DynamoDB client, or a fake of it; no quotas, no campaigns."""
    balances: dict[str, int] = {}
    entries: list[Entry] = []
    for row in _scan(dynamodb, accounts_table):
        if row["sk"] == "balance":
            balances[row["pk"]] = row["balance_fen"]
        elif row["sk"].startswith(keys.ENTRY_PREFIX):
            entries.append(entry_of(row))
    rows = list(_scan(dynamodb, packets_table))
    shares = [items.share_of(row) for row in rows if row["sk"].startswith(keys.SHARE_PREFIX)]
    takers = [items.taker_of(row) for row in rows if row["sk"].startswith(keys.TAKER_PREFIX)]
    by_packet: dict[str, list[ShareFate]] = {}
    for share in shares:
        by_packet.setdefault(share.packet_id, []).append(share)
    packets = [items.packet_of(row) for row in rows if row["sk"] == "packet"]
    facts = [
        PacketFacts(
            packet,
            by_packet.get(packet.packet_id, []),
            balances.get(escrow_account(packet.packet_id), 0),
        )
        for packet in packets
    ]
    claim_counts = {}
    for row in _scan(dynamodb, quotas_table) if quotas_table else ():
        campaign_id, user_id = row["pk"].split("#", 1)
        claim_counts[campaign_id, user_id] = row["claim_count"]
    return World(balances, entries, facts, shares, takers, claim_counts)


def _scan(dynamodb: Any, table: str) -> Iterator[dict[str, Any]]:
    request: dict[str, Any] = {"TableName": table, "ConsistentRead": True}
    while True:
        page = dynamodb.scan(**request)
        yield from (from_wire(item) for item in page["Items"])
        if "LastEvaluatedKey" not in page:
            return
        request["ExclusiveStartKey"] = page["LastEvaluatedKey"]
