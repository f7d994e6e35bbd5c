"""Recorder of claims in SharesTable, where grab functions may only add rows (docs/adr/0018)."""

from __future__ import annotations

from redpacket.packets.dynamodb import items, keys
from redpacket.packets.model.claim import Quota, RecordStatus, Share, ShareStatus
from redpacket.platform.dynamodb.client import Dynamo, Guarded, Operation, Row, create, update

IS_WITHIN_QUOTA = "attribute_not_exists(claim_count) OR claim_count < :count_max"


class DynamoClaims:
    """Recorder that stores each claim at most once and counts the claim against the quota."""

    def __init__(self, dynamo: Dynamo, *, asks_verdicts: bool = False) -> None:
        self._dynamo = dynamo
        self._shares = dynamo.tables.shares
        self._quotas = dynamo.tables.quotas
        self._audience = dynamo.tables.audience
        self._asks_verdicts = asks_verdicts

    def record_claim(self, share: Share, quota: Quota | None = None) -> RecordStatus:
        """Record a claim, or return which of share, user, audience and *quota* prevents it."""
        if share.claimer is None or share.status is not ShareStatus.CLAIMED:
            raise ValueError("only a claim has a claimer to record")
        user_id = share.claimer.user_id
        # The first condition that fails decides the refusal.
        writes = [
            # I4: at most one share per user
            Guarded(
                create(self._shares, items.claimer_row(share, user_id)),
                lambda _: RecordStatus.USER_HAS_SHARE,
            ),
            # I3: one outcome per share
            Guarded(create(self._shares, items.share_row(share)), _share_refusal),
        ]
        if self._asks_verdicts:
            from redpacket.operations.dynamodb.verdicts import demand_verdict

            demanded = demand_verdict(self._audience, user_id, share.decided_at_ms)
            writes.append(Guarded(demanded, lambda _: RecordStatus.NOT_IN_AUDIENCE))
        if quota and quota.audience_mode:
            from redpacket.campaigns.dynamodb.audiences import demand

            # Check in DynamoDB because the cache may be stale.
            demanded = demand(self._audience, quota.campaign_id, user_id, quota.audience_mode)
            writes.append(Guarded(demanded, lambda _: RecordStatus.NOT_IN_AUDIENCE))
        if quota:
            # I9: claims stay within the quota.
            counted = self._count_claim(quota, user_id, share.decided_at_ms)
            writes.append(Guarded(counted, lambda _: RecordStatus.QUOTA_EXHAUSTED))
        return self._dynamo.attempt(writes) or RecordStatus.RECORDED

    def count_claims(self, campaign_id: str, user_id: str) -> int:
        """Return the number of shares that a user claimed in a campaign."""
        row = self._dynamo.get(self._quotas, keys.claim_count(campaign_id, user_id))
        return int(row["claim_count"]) if row else 0

    def _count_claim(self, quota: Quota, user_id: str, at_ms: int) -> Operation:
        return update(
            self._quotas,
            keys.claim_count(quota.campaign_id, user_id),
            "ADD claim_count :one SET first_at_ms = if_not_exists(first_at_ms, :at_ms)",
            condition=IS_WITHIN_QUOTA,
            one=1,
            at_ms=at_ms,
            count_max=quota.count_max,
        )


def _share_refusal(row: Row) -> RecordStatus:
    is_refunded = row["fate"] == ShareStatus.REFUNDED
    return RecordStatus.SHARE_REFUNDED if is_refunded else RecordStatus.SHARE_TAKEN
