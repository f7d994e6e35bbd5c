"""What ElastiCache takes for a password where its user signs in by IAM."""

from __future__ import annotations

import time

from redpacket.adapters.aws.signature import Keys, presigned

_LIFE_S = 900
"""As long as ElastiCache takes a token. A connection outlives it, for twelve hours at the most."""


def cache_token(resource: str, user_id: str, region: str, keys: Keys) -> str:
    """Return a token for *user_id*, signed with the function's own keys; nothing is called.

    *resource* is the last part of the cache's ARN: "replicationgroup:name", "serverlesscache:name".
    """
    kind, _, name = resource.partition(":")
    query = {"Action": "connect", "User": user_id}
    if kind == "serverlesscache":
        query["ResourceType"] = "ServerlessCache"
    at = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    return presigned(name, query, _LIFE_S, at, (region, "elasticache"), keys)
