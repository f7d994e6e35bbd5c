"""Errors of AWS services: temporary ones are Unavailable, and others are our own faults."""

from collections.abc import Callable
from typing import Any

import pytest
from botocore.exceptions import ClientError, ReadTimeoutError

from redpacket.packets.clients.sqs_payouts import SqsDeadLetters, SqsPayouts
from redpacket.packets.model.claim import ShareRef
from redpacket.platform.aws.errors import AwsRefused, AwsSilent
from redpacket.platform.dynamodb.client import Dynamo
from redpacket.platform.errors import Unavailable
from testing.platform.fake_tables import TABLE_NAMES


class _Failing:
    """AWS client whose operations all fail in the same way."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    def __getattr__(self, operation: str) -> Callable[..., Any]:
        def fail(**_arguments: Any) -> Any:
            raise self._error

        return fail


def _refusal(code: str, status: int = 400) -> AwsRefused:
    return AwsRefused("Operation", code, status, {"message": "sorry"})


def _refused(code: str, status: int = 400) -> ClientError:
    response: Any = {"Error": {"Code": code}, "ResponseMetadata": {"HTTPStatusCode": status}}
    return ClientError(response, "Operation")


def _queue(error: Exception) -> object:
    SqsPayouts(lambda: _Failing(error), "queue", lambda: 0).put([ShareRef("p", 1)])
    return None


def _dead_letters(error: Exception) -> object:
    return SqsDeadLetters(lambda: _Failing(error), "queue").count()


def _ledger(error: Exception) -> object:
    return Dynamo(lambda: _Failing(error), TABLE_NAMES).get("table", {"pk": "a"})


each_adapter = pytest.mark.parametrize("call", [_queue, _dead_letters, _ledger])


PASSING = [
    *(
        refused(code, status)
        for refused in (_refused, _refusal)
        for code, status in (
            ("ThrottlingException", 400),
            ("RequestThrottled", 400),
            ("AWS.SimpleQueueService.RequestThrottled", 400),
            ("InternalFailure", 500),
            ("InternalServiceError", 500),
            ("ServiceUnavailable", 503),
            ("429", 429),
        )
    ),
    _refused("", 429),
    ReadTimeoutError(endpoint_url="https://aws"),
    AwsSilent("timed out"),
]
FAULTS = (
    "AccessDenied",
    "AccessDeniedException",
    "AWS.SimpleQueueService.NonExistentQueue",
    "QueueDoesNotExist",
    "ResourceNotFoundException",
    "ValidationException",
)


@each_adapter
def test_temporary_errors_are_unavailability(call: Callable[[Exception], object]) -> None:
    for passing in PASSING:
        with pytest.raises(Unavailable):
            pytest.fail(f"{passing}: {call(passing)}")


@each_adapter
def test_a_missing_permission_or_queue_is_not_an_outage(
    call: Callable[[Exception], object],
) -> None:
    for code in FAULTS:
        with pytest.raises(ClientError, match=code):
            call(_refused(code))
        with pytest.raises(AwsRefused, match=rf"{code} \(400\): sorry"):
            call(_refusal(code))
