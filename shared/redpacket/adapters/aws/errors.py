"""The one place where AWS' errors become ours."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

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

TOO_MANY, _SERVER_ERROR = 429, 500


class AwsSilent(Exception):
    """A service gave no answer that can be read, in all tries."""


class AwsRefused(Exception):
    """A service answered with an error; *response* is as in botocore's ClientError."""

    def __init__(self, operation: str, code: str, status: int, answer: dict[str, Any]) -> None:
        message = str(answer.get("message", answer.get("Message", "")))
        super().__init__(f"{operation}: {code} ({status}): {message}")
        self.code = code
        self.status = status
        self.response: dict[str, Any] = {
            **answer,
            "Error": {"Code": code, "Message": message},
            "ResponseMetadata": {"HTTPStatusCode": status},
        }


@contextmanager
def translated(who: str) -> Iterator[None]:
    """Raise Unavailable where *who* fails and that passes; what does not pass flies as it is."""
    try:
        yield
    except _silences() as error:
        raise Unavailable(f"{who} does not answer") from error
    except _refusals() as error:
        status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
        # SQS' older protocol puts its own name in front of a code.
        code = error.response["Error"]["Code"].rpartition(".")[2]
        if code not in PASSING and status != TOO_MANY and status < _SERVER_ERROR:
            raise
        raise Unavailable(f"{who} is busy") from error


# An error of botocore's can only come where it was imported, which costs what a grab need not pay.
def _silences() -> tuple[type[Exception], ...]:
    botocore = sys.modules.get("botocore.exceptions")
    return (AwsSilent, botocore.BotoCoreError) if botocore else (AwsSilent,)


def _refusals() -> tuple[type[Any], ...]:
    botocore = sys.modules.get("botocore.exceptions")
    return (AwsRefused, botocore.ClientError) if botocore else (AwsRefused,)
