"""Translation of AWS errors into domain errors."""

from __future__ import annotations

import sys
from typing import Any

from redpacket.platform.errors import Unavailable
from redpacket.platform.time_budget import OutOfTime

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
"""Codes of transient errors. Failed conditions or missing permissions are not transient."""

TOO_MANY, _SERVER_ERROR = 429, 500


class AwsSilent(Exception):
    """The service sent no readable response."""


class AwsRefused(Exception):
    """The service sent an error; *response* has the same form as in botocore's ClientError."""

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


class translated:  # noqa: N801 - named like contextlib's classes; five times as fast as a generator
    """Raise Unavailable for transient failures of the service *who*; other errors propagate."""

    __slots__ = ("_who",)

    def __init__(self, who: str) -> None:
        self._who = who

    def __enter__(self) -> None:
        pass

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        if error is None:
            return
        if isinstance(error, _silences()):
            raise Unavailable(f"{self._who} does not answer") from error
        if isinstance(error, _refusals()):
            status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
            # SQS's older protocol prefixes codes, as in AWS.SimpleQueueService.NonExistentQueue.
            code = error.response["Error"]["Code"].rpartition(".")[2]
            if code in PASSING or status == TOO_MANY or status >= _SERVER_ERROR:
                raise Unavailable(f"{self._who} is busy") from error


# Do not import botocore here: its errors occur only if it is loaded, and the import slows grabs.
def _silences() -> tuple[type[Exception], ...]:
    botocore = sys.modules.get("botocore.exceptions")
    ours = (AwsSilent, OutOfTime)
    return (*ours, botocore.BotoCoreError) if botocore else ours


def _refusals() -> tuple[type[Any], ...]:
    botocore = sys.modules.get("botocore.exceptions")
    return (AwsRefused, botocore.ClientError) if botocore else (AwsRefused,)
