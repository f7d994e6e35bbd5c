"""HTTP layer of a handler: parses API Gateway's event and builds the response.

The gateway has matched the route and verified the token. A library that routes again would
add 65 ms to each cold start of a grab.
"""

from __future__ import annotations

import base64
import binascii
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from hmac import compare_digest
from math import inf
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar

from redpacket.platform.errors import (
    Busy,
    Forbidden,
    InvalidRequest,
    InvariantViolated,
    PayloadTooLarge,
    RedPacketError,
    Rejected,
    SwitchedOff,
    Unavailable,
)
from redpacket.platform.http.problems import code_of, problem_of
from redpacket.platform.http.request import RequestOf
from redpacket.platform.settings import settings
from redpacket.platform.telemetry import current_request, outcomes, powertools_logger, write_line
from redpacket.platform.time_budget import REQUEST_S, time_budget

if TYPE_CHECKING:
    from redpacket.platform.http.parameters import Parameter

Event: TypeAlias = dict[str, Any]
Answer: TypeAlias = dict[str, Any]
Body = TypeVar("Body")

BODY_BYTES_MAX = 8 * 1024
NO_STORE = "no-store"
REQUEST_ID = "x-request-id"
"""Header with the request id, which users quote and logs contain (docs/runbook/complaints.md)."""
NOW_MS = "x-now-ms"
"""Header with the response's time, because a device's clock may be wrong."""
ORIGIN_KEY = "x-origin-key"
"""Header in which the CloudFront distribution sends its key, replacing the viewer's value."""

UBIQUITOUS = (Forbidden, PayloadTooLarge, InvariantViolated, Unavailable)
"""Errors that every operation may raise.

A public operation raises Forbidden only for a request that bypasses the distribution.

Operations with a body or a query may also raise InvalidRequest.
"""


@dataclass(frozen=True, slots=True)
class HttpAnswer(Generic[Body]):
    """Success response, empty if *body* is None. Strings and bytes are sent unchanged.

    *status* defaults to the operation's first status.
    """

    body: Body | None
    status: int | None = None
    headers: Mapping[str, str] = field(default_factory=dict)


Route: TypeAlias = Callable[[RequestOf[Any]], HttpAnswer[Any]]
AnyRoute = TypeVar("AnyRoute", bound=Route)
Schedule: TypeAlias = Callable[[int, Event], Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Operation:
    """Declaration of a route; openapi.json also has the types and docstring of *function*.

    *refusals* are the errors beyond UBIQUITOUS; a base class without a code stands for all its
    subclasses. The token needs one of *scopes*, unless *scopes* is empty. *is_public* operations
    need no token. Providers and chat platforms call *is_direct* operations at the API's own
    address. *caching* lists Cache-Control values for pages with an entity tag. *csv* lists the
    columns for clients that accept CSV.
    """

    key: str
    function: Route
    parameters: tuple[Parameter[Any], ...]
    refusals: tuple[type[RedPacketError], ...]
    statuses: tuple[int, ...]
    scopes: tuple[str, ...]
    is_public: bool
    caching: tuple[str, ...]
    csv: tuple[str, ...]
    body_bytes_max: int = BODY_BYTES_MAX
    is_direct: bool = False


class Api:
    """Routes of one handler; an instance is the Lambda handler."""

    def __init__(self) -> None:
        self.operations: dict[str, Operation] = {}
        self._on_schedule: Schedule | None = None

    def route(
        self,
        key: str,
        *,
        parameters: tuple[Parameter[Any], ...] = (),
        refusals: tuple[type[RedPacketError], ...] = (),
        statuses: tuple[int, ...] = (200,),
        scopes: tuple[str, ...] = (),
        is_public: bool = False,
        caching: tuple[str, ...] = (),
        csv: tuple[str, ...] = (),
        body_bytes_max: int = BODY_BYTES_MAX,
        is_direct: bool = False,
    ) -> Callable[[AnyRoute], AnyRoute]:
        """Register a function for a route key in the template, such as "GET /me"."""

        def register(function: AnyRoute) -> AnyRoute:
            self.operations[key] = Operation(
                key,
                function,
                parameters,
                refusals,
                statuses,
                scopes,
                is_public,
                caching,
                csv,
                body_bytes_max,
                is_direct,
            )
            return function

        return register

    def schedule(self, function: Schedule) -> Schedule:
        """Register the function for schedules and queues, which gets the ms left and the event."""
        self._on_schedule = function
        return function

    def __call__(self, event: Event, context: Any) -> Mapping[str, Any]:  # noqa: ANN401 - Lambda's form
        """Answer a request and convert every error to a problem, or run the scheduled function."""
        try:
            return self._answered(event, context)
        finally:
            time_budget.begin(inf)
            outcomes.flush()

    def _answered(self, event: Event, context: Any) -> Mapping[str, Any]:  # noqa: ANN401 - Lambda's form
        if "routeKey" not in event and (self._on_schedule or event["source"] == "aws.events"):
            current_request.request_id = ""
            # If a handler has no schedule, a daily call keeps its snapshot active.
            on_schedule = self._on_schedule or (lambda _remaining_ms, _event: {})
            return on_schedule(context.get_remaining_time_in_millis(), event)
        request_id = current_request.request_id = event["requestContext"]["requestId"]
        try:
            operation = self.operations[event["routeKey"]]
            # Operators' requests, such as preheats and erasures, may take longer.
            time_budget.begin(inf if operation.scopes else REQUEST_S)
            # Operators' tools call the API's own address, and the gateway verified their token.
            if not (operation.is_direct or operation.scopes):
                _require_distribution(event)
            request = _request_of(event, operation.body_bytes_max)
            if operation.scopes:
                request.require_scope(operation.scopes)
                # Log the operator's pseudonym, because the access log names no user.
                user_id, route = request.user.user_id, operation.key
                write_line("operator", operator=user_id, route=route, request_id=request_id)
            for parameter in operation.parameters:
                if parameter.place == "query":  # a handler may return before it reads all of them
                    parameter(request)
            answer = operation.function(request)
        except (Busy, Rejected, SwitchedOff) as error:
            outcomes.count(code_of(error))
            return _answer(*problem_of(error, request_id), request_id)
        except Exception as error:  # noqa: BLE001 - last resort, logged and answered
            # Log a known error by its type; never return an unknown error's text.
            is_known = isinstance(error, RedPacketError)
            name = type(error).__name__ if is_known else "unexpected_error"
            outcomes.count(code_of(error), is_failure=True)
            powertools_logger().exception(name, request_id=request_id, route=event["routeKey"])
            # Write now, because Lambda may freeze or kill this process next.
            outcomes.write()
            return _answer(*problem_of(error, request_id), request_id)
        if operation.csv and "csv" in request.headers.get("accept", ""):
            from redpacket.platform.http.csv_pages import csv_answer, is_csv_asked

            if is_csv_asked(request.headers):
                page = csv_answer(operation.csv, answer.body or {})
                return {**page, "headers": {REQUEST_ID: request_id, **page["headers"]}}
        headers = {"content-type": "application/json", **answer.headers}
        status = answer.status or operation.statuses[0]
        return _answer(status, headers, answer.body, request_id)


def _require_distribution(event: Event) -> None:
    """Raise Forbidden for a request that bypasses the distribution and its web ACL."""
    if not (distribution := settings.distribution):
        return
    host, *keys = distribution
    given = event.get("headers", {}).get(ORIGIN_KEY, "").encode(errors="replace")
    if not any(compare_digest(given, key.encode()) for key in keys):
        raise Forbidden(f"Call https://{host}/api: this address is for providers and operators.")


def _request_of(event: Event, body_bytes_max: int = BODY_BYTES_MAX) -> RequestOf[Any]:
    authorizer = event["requestContext"].get("authorizer", {})
    return RequestOf(
        path=event.get("pathParameters") or {},
        query=event.get("queryStringParameters") or {},
        headers={name.lower(): value for name, value in event.get("headers", {}).items()},
        claims=authorizer.get("jwt", {}).get("claims", {}),
        body=_body_of(event, body_bytes_max),
        source_ip=event["requestContext"].get("http", {}).get("sourceIp", ""),
    )


def _body_of(event: Event, bytes_max: int) -> bytes:
    text = event.get("body") or ""
    try:
        body = base64.b64decode(text) if event.get("isBase64Encoded") else text.encode()
    except (binascii.Error, UnicodeEncodeError) as error:
        raise InvalidRequest.of("body", "must be text, or base64 if marked so") from error
    if len(body) > bytes_max:
        raise PayloadTooLarge(f"The body exceeds the limit of {bytes_max} bytes.")
    return body


def _json_of(body: object) -> str:
    return json.dumps(body, ensure_ascii=False, separators=(",", ":"))


def _answer(status: int, headers: Mapping[str, str], body: object, request_id: str) -> Answer:
    # Nearly every response is private; cacheable pages have their own cache-control header.
    now_ms = str(time.time_ns() // 1_000_000)
    ours = {"cache-control": NO_STORE, REQUEST_ID: request_id, NOW_MS: now_ms}
    answer = {"statusCode": status, "headers": {**ours, **headers}}
    if isinstance(body, bytes):
        return {**answer, "body": base64.b64encode(body).decode(), "isBase64Encoded": True}
    text = "" if body is None else body if isinstance(body, str) else _json_of(body)
    return {**answer, "body": text}
