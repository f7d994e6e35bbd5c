"""Audience lists in AudienceTable. Removals set `is_member` to false: functions delete no rows."""

from __future__ import annotations

from collections.abc import Sequence

from redpacket.campaigns.dynamodb import keys as campaign_keys
from redpacket.campaigns.model import AUDIENCE_MAX, AudienceMode
from redpacket.platform.dynamodb.client import (
    Dynamo,
    Operation,
    TransactionCanceled,
    check,
    update,
    values,
)
from redpacket.platform.errors import Contended, InvalidRequest

IS_THERE = "attribute_exists(pk)"
IS_MEMBER = "is_member = :yes"
IS_NO_MEMBER = "attribute_not_exists(pk) OR is_member = :no"
IS_AS_READ = "version = :read_version"
IS_SHORT_ENOUGH = "attribute_not_exists(member_count) OR member_count <= :most"

_USERS_PER_TRANSACTION = 98
"""Maximum users per transaction, which also writes the list's size and the campaign: 100 rows."""

_TRIES = 6


class DynamoAudiences:
    """Repository of audience lists, whose data takes precedence over the cache."""

    def __init__(self, dynamo: Dynamo) -> None:
        self._dynamo = dynamo
        self._audience = dynamo.tables.audience
        self._campaigns = dynamo.tables.campaigns

    def edit(
        self,
        campaign_id: str,
        add: Sequence[str],
        remove: Sequence[str],
        version: int | None = None,
    ) -> int:
        """Add and remove users in batches, and return the list's size.

        With *version*, the edit requires this version of the campaign, and increments a counter, so
        that cash edits and approvals notice the edit. Raises Contended, and InvalidRequest if the
        list would get too long.
        """
        for user_ids, is_member in ((remove, False), (add, True)):
            for start in range(0, len(user_ids), _USERS_PER_TRANSACTION):
                chunk = user_ids[start : start + _USERS_PER_TRANSACTION]
                self._change(campaign_id, chunk, version, is_member=is_member)
        return self.size(campaign_id)

    def size(self, campaign_id: str) -> int:
        """Return the number of users on a list."""
        row = self._dynamo.get(self._audience, campaign_keys.audience_size(campaign_id))
        return int(row["member_count"]) if row else 0

    def is_member(self, campaign_id: str, user_id: str) -> bool:
        """Return whether the user is on a list."""
        row = self._dynamo.get(self._audience, campaign_keys.member(campaign_id, user_id))
        return bool(row and row["is_member"])

    def set_mode(self, campaign_id: str, mode: AudienceMode, version: int) -> None:
        """Set the list's mode if its campaign still has *version*. Raises Contended.

        The new version makes draws reload the snapshot and invalidates edits that await approval.
        """
        change = "SET audience_mode = :mode ADD version :one"
        plan = update(
            *(self._campaigns, campaign_keys.campaign(campaign_id), change),
            condition=IS_THERE,
            mode=mode,
            one=1,
        )
        shown = update(
            *(self._campaigns, campaign_keys.shown(campaign_id), change),
            condition=IS_AS_READ,
            mode=mode,
            one=1,
            read_version=version,
        )
        if not self._dynamo.try_transact([plan, shown]):
            raise Contended

    def list_members(self, campaign_id: str, bucket: int) -> list[str]:
        """Return the users in one bucket of a list."""
        rows = self._dynamo.query(
            self._audience,
            KeyConditionExpression="pk = :pk",
            ExpressionAttributeValues=values(**campaign_keys.members(campaign_id, bucket)),
            ConsistentRead=True,
        )
        return [str(row["sk"]) for row in rows if row["is_member"] is True]

    def _change(
        self, campaign_id: str, user_ids: Sequence[str], version: int | None, *, is_member: bool
    ) -> None:
        left = list(user_ids)
        for _ in range(_TRIES):
            if not left:
                return
            operations = [self._membership(campaign_id, user, is_member) for user in left]
            change = len(left) if is_member else -len(left)
            operations.append(self._count(campaign_id, change))
            if version is not None:
                operations.append(self._counted_edit(campaign_id, change, version))
            try:
                self._dynamo.transact(operations)
            except TransactionCanceled as canceled:
                rows, (size, *campaign) = canceled.rows[: len(left)], canceled.rows[len(left) :]
                if any(row is not None for row in campaign):
                    break
                if size is not None and not any(row is not None for row in rows):
                    message = f"would exceed the limit of {AUDIENCE_MAX} users in a list"
                    raise InvalidRequest.of("add", message) from None
                left = [user for user, row in zip(left, rows, strict=True) if row is None]
            else:
                return
        raise Contended

    def _membership(self, campaign_id: str, user_id: str, is_member: bool) -> Operation:  # noqa: FBT001
        return update(
            self._audience,
            campaign_keys.member(campaign_id, user_id),
            "SET is_member = :new",
            condition=IS_NO_MEMBER if is_member else IS_MEMBER,
            new=is_member,
            **({"no": False} if is_member else {"yes": True}),
        )

    def _counted_edit(self, campaign_id: str, change: int, version: int) -> Operation:
        return update(
            self._campaigns,
            campaign_keys.shown(campaign_id),
            "ADD audience_edits :one, audience_size :change",
            condition=IS_AS_READ,
            one=1,
            change=change,
            read_version=version,
        )

    def _count(self, campaign_id: str, change: int) -> Operation:
        return update(
            self._audience,
            campaign_keys.audience_size(campaign_id),
            "ADD member_count :change",
            condition=IS_SHORT_ENOUGH,
            change=change,
            most=AUDIENCE_MAX - max(0, change),
        )


def demand(table: str, campaign_id: str, user_id: str, mode: AudienceMode) -> Operation:
    """Return a check that fails the transaction if the user may not participate."""
    key = campaign_keys.member(campaign_id, user_id)
    if mode is AudienceMode.ALLOW:
        return check(table, key, IS_MEMBER, yes=True)
    return check(table, key, IS_NO_MEMBER, no=False)
