"""Repository of planned rains in CampaignsTable."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from redpacket.campaigns.dynamodb import keys as campaign_keys
from redpacket.ledger.dynamodb.posting import exists
from redpacket.ledger.dynamodb.requests import find_result, transact_request
from redpacket.packets.model.rain import NEAR_MS, SHOWN_MAX, Rain, Round, is_crowded
from redpacket.platform.bounds import AT_MS_MAX
from redpacket.platform.dynamodb.client import Dynamo, Guarded, Value, put, values
from redpacket.platform.dynamodb.lists import readable
from redpacket.platform.errors import Unavailable
from redpacket.platform.idempotency import Request

_ROUTE = "rain"
_NEAR_READ = 1_000
"""Maximum rounds to read near a planned rain. Fewer exist, because CROWD_MAX keeps rounds apart."""


class DynamoRains:
    """Repository of planned rains, and of the rounds of funded rains, sorted by end.

    Users see only rounds of funded rains, so unfunded plans take no place in the list.
    """

    def __init__(self, dynamo: Dynamo) -> None:
        self._dynamo = dynamo
        self._table = dynamo.tables.campaigns
        self._packets = dynamo.tables.packets

    def find(self, campaign_id: str, request: Request) -> Rain | None:
        """Return the rain that a request planned. Raises IdempotencyKeyReused, Unavailable."""
        position = find_result(self._dynamo, self._packets, _ROUTE, request)
        return self._get(campaign_id, position) if position else None

    def store(self, rain: Rain, request: Request) -> Rain:
        """Store a plan unless the request has one already, and return the request's plan."""
        position = _position(rain)
        plan = campaign_keys.rain_plan(rain.campaign_id, position)
        writes = [Guarded(put(self._table, {**plan, **_row(rain)}), exists)]
        first = transact_request(self._dynamo, self._packets, _ROUTE, request, position, writes)
        return self._get(rain.campaign_id, first) if first else rain

    def mark_funded(self, rain: Rain) -> None:
        """Show the rain to users."""
        for each in rain.rounds:
            # Keep this order: the row of the last round marks the whole rain as funded.
            single = replace(rain, rounds=[each])
            key = campaign_keys.rain(rain.campaign_id, _position(single))
            self._dynamo.write(put(self._table, {**key, **_row(single)}))

    def list_rounds(
        self, campaign_id: str, after_ms: int, until_ms: int = AT_MS_MAX, limit: int = SHOWN_MAX
    ) -> list[Round]:
        """Return the first *limit* rounds of funded rains that end in the period, by start."""
        rows = self._dynamo.query_some(
            self._table,
            limit,
            KeyConditionExpression="pk = :pk AND sk BETWEEN :first AND :last",
            ExpressionAttributeValues=values(
                pk=campaign_keys.packet_list(campaign_id),
                first=campaign_keys.rain(campaign_id, f"{after_ms:013d}")["sk"],
                last=campaign_keys.rain(campaign_id, f"{until_ms:013d}#~")["sk"],
            ),
        )
        rounds = [each for read in readable(_rounds_of, rows) for each in read]
        return sorted(rounds, key=lambda each: each.starts_at_ms)[:limit]

    def is_crowded(self, rain: Rain) -> bool:
        """Return whether users would see too many rounds at once because of this rain."""
        first_ms, last_ms = rain.rounds[0].starts_at_ms, rain.rounds[-1].ends_at_ms
        near = self.list_rounds(
            rain.campaign_id, max(0, first_ms - NEAR_MS), last_ms + NEAR_MS, _NEAR_READ
        )
        return is_crowded({*near, *rain.rounds})

    def _get(self, campaign_id: str, position: str) -> Rain:
        funded = self._dynamo.get(self._table, campaign_keys.rain(campaign_id, position))
        row = self._dynamo.get(self._table, campaign_keys.rain_plan(campaign_id, position))
        if row is None:
            raise Unavailable(f"the request's rain {position} of {campaign_id} is missing")
        plan_id = position.partition("#")[2]
        return Rain(campaign_id, plan_id, _rounds_of(row), is_funded=funded is not None)


def _position(rain: Rain) -> str:
    return f"{rain.rounds[-1].ends_at_ms:013d}#{rain.plan_id}"


def _row(rain: Rain) -> dict[str, Value]:
    rounds = [[each.starts_at_ms, each.ends_at_ms, *each.packet_ids] for each in rain.rounds]
    return {"rounds": json.dumps(rounds)}


def _rounds_of(row: dict[str, Any]) -> list[Round]:
    rounds = json.loads(row["rounds"])
    return [Round(int(start), int(end), tuple(map(str, ids))) for start, end, *ids in rounds]
