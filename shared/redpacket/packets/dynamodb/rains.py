"""Planned rains in CampaignsTable."""

from __future__ import annotations

import json
from typing import Any

from redpacket.campaigns.dynamodb import keys as campaign_keys
from redpacket.ledger.dynamodb.posting import exists
from redpacket.ledger.dynamodb.requests import find_result, transact_request
from redpacket.packets.model.rain import Rain, Round
from redpacket.platform.dynamodb.client import Dynamo, Guarded, Value, put, values
from redpacket.platform.errors import Unavailable
from redpacket.platform.idempotency import Request

_ROUTE = "rain"
_PLANS_MAX = 20
"""Maximum plans of one campaign that users see at a time."""


class DynamoRains:
    """Repository of planned rains, by the end of their last round.

    A rain gets its own row once it is funded, so plans without money hide none from users.
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
        """Store a plan, and return the first one of this request."""
        position = _position(rain)
        plan = campaign_keys.rain_plan(rain.campaign_id, position)
        writes = [Guarded(put(self._table, {**plan, **_row(rain)}), exists)]
        first = transact_request(self._dynamo, self._packets, _ROUTE, request, position, writes)
        return self._get(rain.campaign_id, first) if first else rain

    def mark_funded(self, rain: Rain) -> None:
        """Show the rain to users."""
        key = campaign_keys.rain(rain.campaign_id, _position(rain))
        self._dynamo.write(put(self._table, {**key, **_row(rain)}))

    def list_rounds(self, campaign_id: str, after_ms: int) -> list[Round]:
        """Return rounds of funded rains of which the last one ends after *after_ms*."""
        rows = self._dynamo.query_some(
            self._table,
            _PLANS_MAX,
            KeyConditionExpression="pk = :pk AND sk BETWEEN :first AND :last",
            ExpressionAttributeValues=values(
                pk=campaign_keys.packet_list(campaign_id),
                first=campaign_keys.rain(campaign_id, f"{after_ms:013d}")["sk"],
                last=campaign_keys.rain(campaign_id, "~")["sk"],
            ),
        )
        rounds = [each for row in rows for each in _rounds_of(row)]
        return sorted(rounds, key=lambda each: each.starts_at_ms)

    def _get(self, campaign_id: str, position: str) -> Rain:
        funded = self._dynamo.get(self._table, campaign_keys.rain(campaign_id, position))
        row = funded or self._dynamo.get(
            self._table, campaign_keys.rain_plan(campaign_id, position)
        )
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
    return [Round(start, end, tuple(ids)) for start, end, *ids in json.loads(row["rounds"])]
