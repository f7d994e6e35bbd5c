"""Translation of AWS errors into domain errors."""

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
"""Transient errors; any other, such as a missing permission, is a deployment error."""

TOO_MANY, _SERVER_ERROR = 429, 500


class AwsSilent(Exception):
    """A service gave no readable answer in any try."""


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
    """Raise Unavailable for transient failures of *who*; other errors propagate."""
    try:
        yield
    except _silences() as error:
        raise Unavailable(f"{who} does not answer") from error
    except _refusals() as error:
        status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
        # SQS's older protocol prefixes a code with its own name.
        code = error.response["Error"]["Code"].rpartition(".")[2]
        if code not in PASSING and status != TOO_MANY and status < _SERVER_ERROR:
            raise
        raise Unavailable(f"{who} is busy") from error


# Do not import botocore for its errors: they occur only if it is loaded, and grabs save the import.
def _silences() -> tuple[type[Exception], ...]:
    botocore = sys.modules.get("botocore.exceptions")
    return (AwsSilent, botocore.BotoCoreError) if botocore else (AwsSilent,)


def _refusals() -> tuple[type[Any], ...]:
    botocore = sys.modules.get("botocore.exceptions")
    return (AwsRefused, botocore.ClientError) if botocore else (AwsRefused,)
