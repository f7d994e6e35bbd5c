"""Erasure of personal attributes, which never moves money (docs/explanation/privacy.md)."""

from __future__ import annotations

from collections.abc import Sequence

from redpacket.campaigns.dynamodb import keys as campaign_keys
from redpacket.campaigns.dynamodb.audiences import DynamoAudiences
from redpacket.erasure.model import OutsideRows
from redpacket.ledger.provider_name import ProviderName
from redpacket.operations.dynamodb import keys as operator_keys
from redpacket.packets.dynamodb.thanks import DynamoThanks
from redpacket.payments.dynamodb import keys as payment_keys
from redpacket.payments.dynamodb.payees import IS_THEIRS, DynamoPayees, as_seen, closing, seen_in
from redpacket.payments.model.authorization import AuthorizationStatus
from redpacket.payments.model.payments import PaymentStatus
from redpacket.platform.dynamodb.client import Dynamo, Operation, update, values
from redpacket.platform.errors import Contended
from redpacket.platform.runtime import InParallel
from redpacket.users.dynamodb.notices import DynamoNotices

IS_PENDING_NO_MORE = "attribute_exists(pk) AND payment_status <> :pending"
HAS_ENDED = "attribute_exists(ended_at_ms)"
IS_USED_NO_MORE = (
    "attribute_exists(pk) AND authorization_status <> :awaited AND authorization_status <> :active"
)
IS_THERE = "attribute_exists(pk)"


class DynamoErasure:
    """Repository that erases personal data. Each method may be repeated."""

    def __init__(self, dynamo: Dynamo, in_parallel: InParallel) -> None:
        self._dynamo = dynamo
        self._payments = dynamo.tables.payments
        self._audience = dynamo.tables.audience
        self._campaigns = dynamo.tables.campaigns
        self._payees = DynamoPayees(dynamo)
        self._audiences = DynamoAudiences(dynamo)
        self._notices = DynamoNotices(dynamo)
        self._in_parallel = in_parallel
        self.erase_thanks = DynamoThanks(dynamo).remove_texts

    def erase_payees(self, user_id: str, now_ms: int) -> None:
        """Unlink the user's payout accounts, and disable the consents for them."""
        for channel in ProviderName:
            seen = self._payees.find(user_id, channel)
            if seen is None:
                continue
            unbound = update(
                self._payments,
                payment_keys.payee(channel, user_id),
                "SET expires_at_s = :now_s REMOVE payee_sealed, payee_hash, bound_at_ms,"
                " opens_at_ms, asked_no, authorization_no",
                condition=as_seen(seen),
                now_s=now_ms // 1000,
                **seen_in(seen),
            )
            freed = update(
                self._payments,
                payment_keys.outside_account(channel, seen.account.name_hash),
                # The row's key is a keyed hash of the account, so the whole row must expire.
                "SET expires_at_s = :now_s REMOVE user_id, bound_at_ms",
                condition=IS_THEIRS,
                now_s=now_ms // 1000,
                user_id=user_id,
            )
            operations = [unbound, freed]
            if seen.asked_no:
                # The sweep then closes the consent at the provider.
                operations.append(closing(self._payments, channel, seen.asked_no, now_ms))
            if not self._dynamo.try_transact(operations):
                raise Contended

    def erase_outside(self, rows: OutsideRows) -> None:
        """Remove account data from ended payments, withdrawals and consents."""
        self._in_parallel(
            self._dynamo.write,
            [
                *(self._without_payer(payment.number) for payment in rows.payments),
                *(self._without_payee(withdrawal.withdrawal_id) for withdrawal in rows.withdrawals),
                *(self._without_name(number) for number in rows.authorization_nos),
            ],
        )

    def erase_audiences(self, user_id: str) -> None:
        """Remove the user from all audience lists, and delete the risk decision on the user."""
        campaign_ids = [
            str(row["pk"]).partition("#")[2]
            for row in self._dynamo.query(
                self._campaigns,
                IndexName="by_list",
                KeyConditionExpression="list_pk = :list",
                ExpressionAttributeValues=values(list=campaign_keys.CAMPAIGNS),
            )
        ]
        for campaign_id in self._listing(user_id, campaign_ids):
            self._audiences.edit(campaign_id, [], [user_id])
        self._dynamo.update(
            self._audience,
            operator_keys.verdict(user_id),
            "REMOVE denied_until_ms, allowed_until_ms",
            condition=IS_THERE,
        )

    def erase_notices(self, user_id: str, now_ms: int) -> None:
        """Remove the content of the user's notices."""
        self._notices.erase(user_id, now_ms, self._in_parallel)

    def _listing(self, user_id: str, campaign_ids: Sequence[str]) -> list[str]:
        row_keys = {
            campaign_keys.member(campaign_id, user_id)["pk"]: campaign_id
            for campaign_id in campaign_ids
        }
        wanted = [{"pk": pk, "sk": user_id} for pk in row_keys]
        return [
            row_keys[str(row["pk"])]
            for row in self._dynamo.get_many(self._audience, wanted, is_strong=True)
            if row["is_member"] is True
        ]

    def _without_payer(self, number: str) -> Operation:
        return update(
            self._payments,
            payment_keys.payment(number),
            "REMOVE payer_sealed, payer_hash, prompt",
            condition=IS_PENDING_NO_MORE,
            pending=PaymentStatus.PENDING,
        )

    def _without_payee(self, withdrawal_id: str) -> Operation:
        return update(
            self._payments,
            payment_keys.withdrawal(withdrawal_id),
            "REMOVE payee_sealed, payee_hash, confirmation",
            condition=HAS_ENDED,
        )

    def _without_name(self, number: str) -> Operation:
        return update(
            self._payments,
            payment_keys.authorization(number),
            "REMOVE payee_sealed, payee_hash, display_name, confirmation",
            condition=IS_USED_NO_MORE,
            awaited=AuthorizationStatus.AWAITING_CONFIRMATION,
            active=AuthorizationStatus.ACTIVE,
        )
