"""Mapping from user ids to the host's ids; an erasure removes it."""

from __future__ import annotations

from collections.abc import Sequence

from redpacket.platform.dynamodb.client import Dynamo


class DynamoHostIds:
    """DynamoDB implementation of HostIds."""

    def __init__(self, dynamo: Dynamo) -> None:
        self._dynamo = dynamo
        self._profiles = dynamo.tables.profiles

    def find(self, user_ids: Sequence[str]) -> dict[str, str]:
        wanted = [{"pk": user_id} for user_id in dict.fromkeys(user_ids)]
        return {
            str(row["pk"]): str(row["host_id"])
            # No read may return an erased user's id, even briefly.
            for row in self._dynamo.get_many(
                self._profiles, wanted, is_strong=True, only="pk, host_id"
            )
            if "host_id" in row
        }
