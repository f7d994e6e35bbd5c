"""Repository of payout accounts in PaymentsTable: per provider, a row per user and per account."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from redpacket.ledger.provider_name import ProviderName
from redpacket.payments.dynamodb import keys as payment_keys
from redpacket.payments.dynamodb.items import account_of, account_row, work_list
from redpacket.payments.errors import OpenidInUse
from redpacket.payments.model.authorization import AuthorizationStatus
from redpacket.payments.model.provider import ExternalAccount, Payee
from redpacket.platform.dynamodb.client import Dynamo, Guarded, Operation, Row, Value, put, update
from redpacket.platform.errors import Contended, InvariantViolated, RedPacketError, Unavailable

IS_FREE_OR_THEIRS = "attribute_not_exists(user_id) OR user_id = :user_id"
IS_THEIRS = "user_id = :user_id"
HAS_ACCOUNT_AS_SEEN = "payee_hash = :seen_hash"
HAS_CONSENT_AS_SEEN = "asked_no = :seen_no"
HAS_NO_CONSENT = "attribute_not_exists(asked_no)"
IS_THERE = "attribute_exists(pk)"
HAS_NO_ACCOUNT = "attribute_not_exists(payee_hash)"

REBOUND_WAIT_MS = 24 * 3_600_000
"""Milliseconds until an account that replaced another one accepts withdrawals."""

_TRIES = 4


class DynamoPayees:
    """Repository of bound accounts; each account belongs to one user."""

    def __init__(self, dynamo: Dynamo) -> None:
        self._dynamo = dynamo
        self._payments = dynamo.tables.payments

    def find(self, user_id: str, channel: ProviderName) -> Payee | None:
        payee = self._read(user_id, channel)
        return payee if payee and payee.account.has_owner else None

    def _read(self, user_id: str, channel: ProviderName) -> Payee | None:
        row = self._dynamo.get(self._payments, payment_keys.payee(channel, user_id))
        # An erasure leaves an empty row.
        return _payee_of(row, user_id) if row and "payee_hash" in row else None

    def bind(
        self,
        user_id: str,
        channel: ProviderName,
        account: ExternalAccount,
        now_ms: int,
        first_wait_ms: int = 0,
    ) -> Payee:
        """Bind an account to a user, and free the user's previous account.

        If the account is already bound to the user, only a seal from an earlier version is
        replaced. The previous account's consent changes to CLOSING, so that the sweep closes it at
        the provider. Raises OpenidInUse.
        """
        for _ in range(_TRIES):
            seen = self._read(user_id, channel)
            if seen and seen.account.name_hash == account.name_hash:
                if seen.account.has_owner:
                    return seen
                bound = replace(seen, account=account)
                writes = [self._sealing(user_id, channel, bound)]
            else:
                wait_ms = REBOUND_WAIT_MS if seen else first_wait_ms
                opens_at_ms = now_ms + wait_ms if wait_ms else 0
                bound = Payee(account, opens_at_ms, bound_at_ms=now_ms)
                writes = self._binding(user_id, channel, bound, seen, now_ms)
            refused = self._dynamo.attempt(writes)
            if refused is None:
                return bound
            if not isinstance(refused, Unavailable):
                raise refused
        raise Contended

    def _sealing(
        self, user_id: str, channel: ProviderName, bound: Payee
    ) -> Guarded[RedPacketError]:
        sealed = update(
            self._payments,
            payment_keys.payee(channel, user_id),
            "SET payee_sealed = :payee_sealed",
            condition=as_seen(bound),
            payee_sealed=bound.account.sealed,
            **seen_in(bound),
        )
        return Guarded(sealed, _has_changed)

    def _binding(
        self, user_id: str, channel: ProviderName, bound: Payee, seen: Payee | None, now_ms: int
    ) -> list[Guarded[RedPacketError]]:
        taken = put(
            self._payments,
            {
                **payment_keys.outside_account(channel, bound.account.name_hash),
                "user_id": user_id,
                "bound_at_ms": now_ms,
            },
            condition=IS_FREE_OR_THEIRS,
            user_id=user_id,
        )
        writes: list[Guarded[RedPacketError]] = [Guarded(taken, lambda _row: OpenidInUse())]
        key = payment_keys.payee(channel, user_id)
        if seen is None:
            row: dict[str, Value] = {
                **key,
                **account_row("payee", bound.account),
                "bound_at_ms": now_ms,
                "opens_at_ms": bound.opens_at_ms,
            }
            first = put(self._payments, row, condition=HAS_NO_ACCOUNT)
            return [*writes, Guarded(first, _has_changed)]
        rebound = update(
            self._payments,
            key,
            "SET payee_sealed = :payee_sealed, payee_hash = :payee_hash, bound_at_ms = :now_ms,"
            " opens_at_ms = :opens_at_ms REMOVE asked_no, authorization_no",
            condition=as_seen(seen),
            **account_row("payee", bound.account),
            **seen_in(seen),
            now_ms=now_ms,
            opens_at_ms=bound.opens_at_ms,
        )
        freed = update(
            self._payments,
            payment_keys.outside_account(channel, seen.account.name_hash),
            "REMOVE user_id",
            condition=IS_THEIRS,
            user_id=user_id,
        )
        writes += [Guarded(rebound, _has_changed), Guarded(freed, _is_not_theirs)]
        if seen.asked_no:
            ended = closing(self._payments, channel, seen.asked_no, now_ms)
            writes.append(Guarded(ended, _is_not_theirs))
        return writes


def as_seen(seen: Payee) -> str:
    """Return the condition that the user's account and consent are unchanged."""
    return f"{HAS_ACCOUNT_AS_SEEN} AND {HAS_CONSENT_AS_SEEN if seen.asked_no else HAS_NO_CONSENT}"


def seen_in(seen: Payee) -> dict[str, Value]:
    """Return the values for the condition of `as_seen`."""
    named: dict[str, Value] = {"seen_hash": seen.account.name_hash}
    return named | ({"seen_no": seen.asked_no} if seen.asked_no else {})


def closing(payments_table: str, channel: ProviderName, number: str, now_ms: int) -> Operation:
    """Return the update that disables a consent and queues it for closing at the provider."""
    return update(
        payments_table,
        payment_keys.authorization(number),
        "SET authorization_status = :closing, work_pk = :waits, work_at_ms = :now_ms"
        " REMOVE confirmation",
        condition=IS_THERE,
        closing=AuthorizationStatus.CLOSING,
        waits=work_list("consent", channel, number),
        now_ms=now_ms,
    )


def _payee_of(row: dict[str, Any], user_id: str) -> Payee:
    return Payee(
        account=account_of("payee", row, user_id),
        opens_at_ms=row["opens_at_ms"],
        authorization_no=row.get("authorization_no"),
        asked_no=row.get("asked_no"),
        bound_at_ms=row["bound_at_ms"],
    )


def _has_changed(_row: Row) -> RedPacketError:
    return Unavailable("The account is being updated concurrently. Try again.")


def _is_not_theirs(_row: Row) -> RedPacketError:
    """Return the error for contradictory rows, which indicate a bug."""
    return InvariantViolated("the account or consent row names another user")
