"""The one place where AWS' errors become ours."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from redpacket.domain.errors import Unavailable

PASSING = {
    "InternalServerError",
    "KmsThrottled",
    "LimitExceededException",
    "OverLimit",
    "ProvisionedThroughputExceeded",
    "ProvisionedThroughputExceededException",
    "RequestLimitExceeded",
    "RequestThrottled",
    "ResourceConflictException",
    "ResourceInUseException",
    "ServiceUnavailable",
    "Throttling",
    "ThrottlingError",
    "ThrottlingException",
    "TooManyRequestsException",
    "TransactionConflict",
    "TransactionConflictException",
    "TransactionInProgressException",
}
"""Errors that pass by themselves; any other, like a missing permission, is a fault of ours."""

_SERVER_ERROR = 500


@contextmanager
def translated(who: str) -> Iterator[None]:
    """Raise Unavailable where *who* fails and that passes; what does not pass flies as it is."""
    from botocore.exceptions import BotoCoreError, ClientError

    try:
        yield
    except BotoCoreError as error:
        msg = f"{who} does not answer"
        raise Unavailable(msg) from error
    except ClientError as error:
        status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
        # SQS' older protocol puts its own name in front of a code.
        code = error.response["Error"]["Code"].rpartition(".")[2]
        if code not in PASSING and status < _SERVER_ERROR:
            raise
        msg = f"{who} is busy"
        raise Unavailable(msg) from error
