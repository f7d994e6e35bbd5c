"""Failures of commands, with one exit code for each kind."""

import sys
from enum import IntEnum
from typing import Any


class Exit(IntEnum):
    """Exit codes; typer itself uses 2 for a wrong command line."""

    DONE = 0
    FOUND = 1
    """An audit, a reconciliation, a proof or another check found a problem."""
    USAGE = 2
    REFUSED = 3
    """The API refused the request. An unchanged retry would be refused again.

    `verify` also exits with this code if nothing differs but not everything was checked.
    """
    UNAVAILABLE = 4
    """The result is unknown, or the call was rate-limited: repeat the command."""
    NO_TARGET = 5
    """No stack, no token, no AWS credentials, or a file that can't be read or used."""
    WAITS = 6
    """Nothing has changed: the request waits for another operator's approval."""


class Failure(Exception):
    """Failure of a command. *problem* is the API's problem, or an object of the same form.

    If the command waits for an approval, *problem* is the API's response.
    """

    def __init__(self, code: Exit, detail: str, problem: dict[str, Any] | None = None) -> None:
        super().__init__(detail)
        self.code = code
        self.problem = problem or {"code": code.name.lower(), "detail": detail}


def waits(answer: dict[str, Any]) -> Failure:
    """Return the failure of a command whose request waits for approval (202)."""
    approve = f"redpacket approvals approve {answer['approval_id']}"
    detail = (
        f"Nothing changed: the request waits for approval. Another operator must run: {approve}"
    )
    return Failure(Exit.WAITS, detail, answer)


def no_target(detail: str) -> Failure:
    """Return the failure of a command without a usable stack, token, file or option."""
    return Failure(Exit.NO_TARGET, detail)


_AGAIN = {"Throttling", "ThrottlingException", "RequestLimitExceeded", "ServiceUnavailable"}
_SERVER_ERROR = 500


def of_aws(error: Exception) -> Failure | None:
    """Return the failure for a boto3 error, or None for any other error."""
    # Importing boto3 takes half a second. Skip it if boto3 cannot have raised the error.
    errors = sys.modules.get("botocore.exceptions")
    if errors is None:
        return None
    if isinstance(error, errors.ClientError):
        told = error.response["Error"]
        code, why = told.get("Code"), str(told.get("Message")).rstrip(".")
        status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
        is_away = status >= _SERVER_ERROR or code in _AGAIN
        name = f"{error.operation_name}: {code}"
        if is_away:
            detail = f"AWS refused {name}: {why}. Repeat the command"
        elif code == "ValidationError":
            detail = (
                f"AWS refused {name}: {why}. List the names: aws cloudformation list-stacks or "
                "list-stack-resources"
            )
        else:
            detail = f"AWS refused {name}: {why}. Check your role: aws sts get-caller-identity"
    elif isinstance(error, errors.BotoCoreError):
        is_away = isinstance(error, (errors.ConnectionError, errors.HTTPClientError))
        why = str(error).rstrip(".")
        if is_away:
            detail = f"AWS does not answer: {why}. Check the network, and repeat the command"
        else:
            detail = f"AWS is not set up: {why}. Set AWS_PROFILE and AWS_DEFAULT_REGION"
    else:
        return None
    return Failure(Exit.UNAVAILABLE if is_away else Exit.NO_TARGET, detail)
