"""IAM authentication tokens that ElastiCache accepts as passwords."""

from __future__ import annotations

import time

from redpacket.platform.aws.signature import Keys, presigned

_LIFE_S = 900
"""Seconds for which ElastiCache accepts a token; connections last up to twelve hours."""


def cache_token(resource: str, user_id: str, region: str, keys: Keys) -> str:
    """Return a locally signed token; *resource* is the ARN's end, as in "replicationgroup:x"."""
    kind, _, name = resource.partition(":")
    query = {"Action": "connect", "User": user_id}
    if kind == "serverlesscache":
        query["ResourceType"] = "ServerlessCache"
    at = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    return presigned(name, query, _LIFE_S, at, (region, "elasticache"), keys)
