"""Repositories of webhooks, and of waiting and dead deliveries, in WebhooksTable."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from redpacket.events.messages import event_of, event_text
from redpacket.events.model.events import EventType
from redpacket.events.model.webhooks import (
    COUNT_MAX,
    DEAD_KEPT_MS,
    Delivery,
    DeliveryAttempt,
    SealedSecret,
    Webhook,
)
from redpacket.operations.dynamodb import keys as operator_keys
from redpacket.platform.dynamodb.client import Dynamo, Value, put, values

HAS_VERSION_AS_SEEN = "webhook_version = :seen_version"
HAS_FAILED_AS_OFTEN = "failure_count = :seen_count"
IS_THERE = "attribute_exists(pk)"

_REMOVED_KEPT_S = 3_600


class DynamoWebhooks:
    """Repository of webhooks."""

    def __init__(self, dynamo: Dynamo) -> None:
        self._dynamo = dynamo
        self._table = dynamo.tables.webhooks

    def list_all(self) -> list[Webhook]:
        """Return all webhooks, sorted by name, with eventually consistent reads."""
        rows = self._dynamo.query(
            self._table,
            KeyConditionExpression="pk = :pk",
            ExpressionAttributeValues=values(pk=operator_keys.WEBHOOKS),
        )
        return [_webhook_of(row) for row in rows]

    def find(self, name: str) -> Webhook | None:
        """Return a webhook."""
        row = self._dynamo.get(self._table, operator_keys.webhook(name))
        return _webhook_of(row) if row else None

    def put(self, webhook: Webhook, seen: Webhook | None) -> bool:
        """Create a webhook, or replace *seen*; return False if another edit came first."""
        row = _edited_row(webhook)
        if seen is None:
            made = {
                **operator_keys.webhook(webhook.name),
                **row,
                "created_at_ms": webhook.created_at_ms,
            }
            return self._dynamo.write(put(self._table, made))
        return self._dynamo.update(
            self._table,
            operator_keys.webhook(webhook.name),
            "SET " + ", ".join(f"{name} = :{name}" for name in row),
            condition=HAS_VERSION_AS_SEEN,
            seen_version=seen.version,
            **row,
        )

    def note_success(self, webhook: Webhook, attempt: DeliveryAttempt, slow_until_ms: int) -> None:
        """Record a successful attempt and reset the failures."""
        self._dynamo.update(
            self._table,
            operator_keys.webhook(webhook.name),
            "SET failure_count = :none, paused_until_ms = :none, slow_until_ms = :slow_ms,"
            " last_success = :attempt",
            condition=IS_THERE,
            none=0,
            slow_ms=slow_until_ms,
            attempt=json.dumps(asdict(attempt)),
        )

    def note_failure(
        self, webhook: Webhook, attempt: DeliveryAttempt, paused_until_ms: int
    ) -> bool:
        """Count a failure; return False if the count has changed since *webhook* was read."""
        return self._dynamo.update(
            self._table,
            operator_keys.webhook(webhook.name),
            "SET failure_count = :count, paused_until_ms = :until_ms, last_failure = :attempt",
            condition=HAS_FAILED_AS_OFTEN,
            seen_count=webhook.failure_count,
            count=webhook.failure_count + 1,
            until_ms=paused_until_ms,
            attempt=json.dumps(asdict(attempt)),
        )


class DynamoWaitingList:
    """Repository of deliveries that wait for an attempt, and of dead letters; lists may lag.

    After a success, the delivery's row loses its event and expires.
    """

    def __init__(self, dynamo: Dynamo) -> None:
        self._dynamo = dynamo
        self._table = dynamo.tables.webhooks

    def put(self, delivery: Delivery) -> None:
        """Store a delivery until it is due, or as a dead letter."""
        row: dict[str, Value] = {
            "event_text": event_text(delivery.event),
            "first_at_ms": delivery.first_at_ms,
            "attempt_count": delivery.attempt_count,
            "last_status": delivery.last_status or 0,
        }
        shard = operator_keys.delivery(delivery.webhook, delivery.event.event_id)["pk"]
        if delivery.died_at_ms is None:
            row |= {"work_pk": f"waiting-{shard}", "work_at_ms": delivery.due_at_ms}
            removed = " REMOVE expires_at_s"
        else:
            row |= {"work_pk": f"dead-{shard}", "work_at_ms": delivery.died_at_ms}
            row["expires_at_s"] = (delivery.died_at_ms + DEAD_KEPT_MS) // 1_000
            removed = ""
        self._dynamo.update(
            self._table,
            operator_keys.delivery(delivery.webhook, delivery.event.event_id),
            "SET " + ", ".join(f"{name} = :{name}" for name in row) + removed,
            condition=None,
            **row,
        )

    def remove(self, delivery: Delivery, now_ms: int) -> None:
        """Remove a successful delivery."""
        self._dynamo.update(
            self._table,
            operator_keys.delivery(delivery.webhook, delivery.event.event_id),
            "SET expires_at_s = :at_s REMOVE event_text, work_pk, work_at_ms",
            at_s=now_ms // 1_000 + _REMOVED_KEPT_S,
        )

    def list_due(self, webhook: str, until_ms: int, limit: int) -> list[Delivery]:
        """Return due deliveries, earliest due time first."""
        return self._list("waiting", webhook, until_ms, limit)

    def list_dead(self, webhook: str, limit: int) -> list[Delivery]:
        """Return dead letters, oldest first."""
        return self._list("dead", webhook, None, limit)

    def count(self, webhook: str) -> tuple[int, int]:
        """Return the numbers of waiting and dead deliveries, each at most COUNT_MAX."""
        pending, dead = (
            len(self._named(kind, webhook, None, COUNT_MAX)) for kind in ("waiting", "dead")
        )
        return min(pending, COUNT_MAX), min(dead, COUNT_MAX)

    def _list(self, kind: str, webhook: str, until_ms: int | None, limit: int) -> list[Delivery]:
        named = self._named(kind, webhook, until_ms, limit)
        rows = self._dynamo.get_many(self._table, named, is_strong=True)
        # The index lags behind the rows: skip rows that have changed in the meantime.
        matching = [
            row
            for row in rows
            if str(row.get("work_pk", "")).startswith(f"{kind}-")
            and (until_ms is None or int(row["work_at_ms"]) <= until_ms)
        ]
        matching.sort(key=lambda row: int(row["work_at_ms"]))
        return [_delivery_of(webhook, row) for row in matching[:limit]]

    def _named(
        self, kind: str, webhook: str, until_ms: int | None, limit: int
    ) -> list[dict[str, str]]:
        bound = "" if until_ms is None else " AND work_at_ms <= :until_ms"
        named: list[tuple[int, str, str]] = []
        for shard in range(operator_keys.DELIVERY_SHARDS):
            named += [
                (int(row["work_at_ms"]), str(row["pk"]), str(row["sk"]))
                for row in self._dynamo.query_some(
                    self._table,
                    limit,
                    IndexName="by_work",
                    KeyConditionExpression=f"work_pk = :work_pk{bound}",
                    ExpressionAttributeValues=values(
                        work_pk=f"{kind}-delivery#{webhook}#{shard}",
                        **({} if until_ms is None else {"until_ms": until_ms}),
                    ),
                )
            ]
        return [{"pk": pk, "sk": sk} for _, pk, sk in sorted(named)[:limit]]


def _edited_row(webhook: Webhook) -> dict[str, Value]:
    return {
        "target_url": webhook.url,
        "event_kinds": ",".join(sorted(webhook.kinds)),
        "is_on": webhook.is_on,
        "signing_secrets": json.dumps([asdict(secret) for secret in webhook.secrets]),
        "webhook_version": webhook.version,
        "failure_count": webhook.failure_count,
        "paused_until_ms": webhook.paused_until_ms,
        "slow_until_ms": webhook.slow_until_ms,
    }


def _webhook_of(row: dict[str, Any]) -> Webhook:
    return Webhook(
        name=row["sk"],
        url=row["target_url"],
        kinds=frozenset(EventType(kind) for kind in row["event_kinds"].split(",") if kind),
        is_on=row["is_on"],
        secrets=tuple(SealedSecret(**secret) for secret in json.loads(row["signing_secrets"])),
        created_at_ms=row["created_at_ms"],
        version=row["webhook_version"],
        failure_count=row["failure_count"],
        paused_until_ms=row["paused_until_ms"],
        slow_until_ms=row["slow_until_ms"],
        last_success=_attempt_of(row.get("last_success")),
        last_failure=_attempt_of(row.get("last_failure")),
    )


def _attempt_of(text: str | None) -> DeliveryAttempt | None:
    return DeliveryAttempt(**json.loads(text)) if text else None


def _delivery_of(webhook: str, row: dict[str, Any]) -> Delivery:
    is_dead = str(row["work_pk"]).startswith("dead-")
    return Delivery(
        webhook=webhook,
        event=event_of(row["event_text"]),
        first_at_ms=row["first_at_ms"],
        attempt_count=row["attempt_count"],
        due_at_ms=0 if is_dead else row["work_at_ms"],
        is_stored=True,
        last_status=row["last_status"],
        died_at_ms=row["work_at_ms"] if is_dead else None,
    )
