"""Repository of users' consents to transfers without confirmation, in PaymentsTable."""

from __future__ import annotations

from typing import Any

from redpacket.ledger.dynamodb import keys
from redpacket.ledger.provider_name import ProviderName
from redpacket.payments.dynamodb import keys as payment_keys
from redpacket.payments.dynamodb.items import account_of, account_row, work_list
from redpacket.payments.dynamodb.lists import oldest
from redpacket.payments.dynamodb.payees import IS_THERE, as_seen, closing, seen_in
from redpacket.payments.model.authorization import Authorization, AuthorizationStatus
from redpacket.payments.model.provider import Payee
from redpacket.platform.dynamodb.client import Dynamo, Operation, Value, put, update

NAMES_IT = "asked_no = :number"
IS_AWAITED = "authorization_status = :awaited"
IS_ACTIVE = "authorization_status = :active"
IS_WAITING = "attribute_exists(work_pk)"

KEPT_MS = 30 * 24 * 3_600_000
"""Milliseconds after which a closed consent's row expires, because it holds a user's name."""


class DynamoAuthorizations:
    """Repository of consents to transfers; a user has at most one usable consent per provider."""

    def __init__(self, dynamo: Dynamo) -> None:
        self._dynamo = dynamo
        self._payments = dynamo.tables.payments

    def begin(self, authorization: Authorization, payee: Payee) -> bool:
        """Store a consent, and its number in the payee row; return False if *payee* has changed."""
        named = update(
            self._payments,
            payment_keys.payee(authorization.channel, authorization.user_id),
            "SET asked_no = :number REMOVE authorization_no",
            condition=as_seen(payee),
            number=authorization.number,
            **seen_in(payee),
        )
        return self._dynamo.try_transact([put(self._payments, _row(authorization)), named])

    def find(self, number: str) -> Authorization | None:
        """Return a consent."""
        row = self._dynamo.get(self._payments, payment_keys.authorization(number))
        return _authorization_of(row) if row else None

    def list_waiting(self, channel: ProviderName, until_ms: int, limit: int) -> list[str]:
        """Return the numbers of consents to query or close, oldest first; the list may lag."""
        rows = oldest(self._dynamo, self._payments, f"consent-{channel}", until_ms, limit)
        return [row["pk"].removeprefix(payment_keys.AUTHORIZATION_PREFIX) for row in rows]

    def look_again(self, number: str, at_ms: int) -> None:
        """Reschedule a consent in `list_waiting`."""
        self._dynamo.update(
            self._payments,
            payment_keys.authorization(number),
            "SET work_at_ms = :at_ms",
            condition=IS_WAITING,
            at_ms=at_ms,
        )

    def keep_confirmation(self, authorization: Authorization, confirmation: str) -> None:
        """Store the data for the user's client if the consent is AWAITING_CONFIRMATION."""
        self._dynamo.update(
            self._payments,
            payment_keys.authorization(authorization.number),
            "SET confirmation = :confirmation",
            condition=IS_AWAITED,
            confirmation=confirmation,
            awaited=AuthorizationStatus.AWAITING_CONFIRMATION,
        )

    def activate(self, authorization: Authorization) -> bool:
        """Set a consent to ACTIVE; return False if the payee row refers to another consent."""
        active = update(
            self._payments,
            payment_keys.authorization(authorization.number),
            "SET authorization_status = :active REMOVE work_pk, work_at_ms, confirmation",
            condition=IS_THERE,
            active=AuthorizationStatus.ACTIVE,
        )
        used = self._naming(
            authorization.user_id,
            authorization.channel,
            authorization.number,
            "SET authorization_no = :number",
        )
        return self._dynamo.try_transact([active, used])

    def doubt(self, user_id: str, channel: ProviderName, number: str, now_ms: int) -> None:
        """Disable an ACTIVE consent until the provider is queried again."""
        doubted = update(
            self._payments,
            payment_keys.authorization(number),
            "SET authorization_status = :awaited, work_pk = :waits, work_at_ms = :now_ms",
            condition=IS_ACTIVE,
            awaited=AuthorizationStatus.AWAITING_CONFIRMATION,
            active=AuthorizationStatus.ACTIVE,
            waits=work_list("consent", channel, number),
            now_ms=now_ms,
        )
        unused = self._naming(user_id, channel, number, "REMOVE authorization_no")
        self._dynamo.try_transact([doubted, unused])

    def begin_close(self, authorization: Authorization, now_ms: int) -> bool:
        """Set a consent to CLOSING; return False if the payee row does not refer to the consent."""
        ended = closing(self._payments, authorization.channel, authorization.number, now_ms)
        unused = self._unnamed(authorization)
        return self._dynamo.try_transact([ended, unused])

    def close(self, authorization: Authorization, now_ms: int) -> None:
        """Set a consent to CLOSED, and remove it from the payee row."""
        closed = update(
            self._payments,
            payment_keys.authorization(authorization.number),
            "SET authorization_status = :closed, expires_at_s = :goes_at_s"
            " REMOVE work_pk, work_at_ms, confirmation",
            condition=IS_THERE,
            closed=AuthorizationStatus.CLOSED,
            goes_at_s=(now_ms + KEPT_MS) // 1000,
        )
        unused = self._unnamed(authorization)
        if not self._dynamo.try_transact([closed, unused]):
            # The payee row does not refer to this consent, and will never refer to it again.
            self._dynamo.write(closed)

    def _unnamed(self, authorization: Authorization) -> Operation:
        return self._naming(
            authorization.user_id,
            authorization.channel,
            authorization.number,
            "REMOVE asked_no, authorization_no",
        )

    def _naming(
        self, user_id: str, channel: ProviderName, number: str, expression: str
    ) -> Operation:
        key = payment_keys.payee(channel, user_id)
        return update(self._payments, key, expression, condition=NAMES_IT, number=number)


def _row(authorization: Authorization) -> dict[str, Value]:
    return {
        **payment_keys.authorization(authorization.number),
        "number": authorization.number,
        "user_id": authorization.user_id,
        "channel": authorization.channel,
        **account_row("payee", authorization.account),
        "display_name": authorization.display_name,
        "asked_at_ms": authorization.asked_at_ms,
        "authorization_status": authorization.status,
        "work_pk": work_list("consent", authorization.channel, authorization.number),
        "work_at_ms": authorization.asked_at_ms,
        "list_pk": payment_keys.authorization_list(authorization.user_id),
        "list_sk": keys.list_position(authorization.asked_at_ms, authorization.number),
    }


def _authorization_of(row: dict[str, Any]) -> Authorization:
    return Authorization(
        number=row["number"],
        user_id=row["user_id"],
        channel=ProviderName(row["channel"]),
        account=account_of("payee", row, row["user_id"]),
        display_name=row.get("display_name", ""),
        asked_at_ms=row["asked_at_ms"],
        status=AuthorizationStatus(row["authorization_status"]),
        confirmation=row.get("confirmation", ""),
    )
