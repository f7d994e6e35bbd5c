"""A door's HTTP side: from API Gateway's event to a request, from a result to its answer.

The gateway has matched the route and verified the token. No router is needed: the event names
its route, and the libraries that route again cost each cold start of a grab 65 ms (LOCAL.md).
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, TypeAlias

from redpacket.domain.campaign import check_campaign_id
from redpacket.domain.errors import (
    Forbidden,
    IdempotencyKeyMissing,
    InvalidRequest,
    PayloadTooLarge,
    RedPacketError,
    Rejected,
    SwitchedOff,
)
from redpacket.domain.packet import Person
from redpacket.domain.switches import Switch, switch_named
from redpacket.domain.text import composed, is_reserved, is_visible
from redpacket.domain.user_id import UserIds, check_host_id
from redpacket.edge import settings
from redpacket.edge.problems import problem_of
from redpacket.edge.telemetry import logger

Event: TypeAlias = dict[str, Any]
Answer: TypeAlias = dict[str, Any]

BODY_BYTES_MAX = 8 * 1024
ADMIN_SCOPE = "hongbao/admin"
KEY_LENGTH_MAX = 255
DAY = re.compile("[0-9]{8}")
_NICKNAME_LENGTH_MAX = 64


@cache
def user_ids() -> UserIds:
    """Return what makes user ids of the host's own. Raises SettingMissing or ValueError."""
    return UserIds(settings.user_id_key())


def person_of(host_id: str, nickname: str | None = None) -> Person:
    """Return the user whom the host calls *host_id*; their id is made of that alone."""
    return Person(user_ids().id_of(host_id), nickname, host_id)


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """One request; header names are lower case."""

    path: Mapping[str, str]
    query: Mapping[str, str]
    headers: Mapping[str, str]
    claims: Mapping[str, Any]
    body: bytes

    def json(self) -> dict[str, Any]:
        """Return the body, an object; none at all is an empty one. Raises InvalidRequest."""
        if not self.body.strip():
            return {}
        try:
            parsed = json.loads(
                self.body, parse_constant=_refuse_constant, object_pairs_hook=_unique
            )
        except (ValueError, RecursionError) as error:
            raise InvalidRequest([{"field": "body", "message": "is not valid JSON"}]) from error
        if not isinstance(parsed, dict):
            raise InvalidRequest([{"field": "body", "message": "is not a JSON object"}])
        return parsed

    @property
    def switch(self) -> Switch:
        """The switch that the path names. Raises SwitchNotFound."""
        return switch_named(self.path.get("name", ""))

    @property
    def campaign_id(self) -> str:
        """The campaign that the path names. Raises CampaignNotFound where it can't be one."""
        return check_campaign_id(self.path.get("campaign_id", ""))

    @property
    def prize_id(self) -> str:
        """The prize that the path names. Raises CampaignNotFound where it can't be one."""
        from redpacket.domain.lottery import check_prize_id

        return check_prize_id(self.path.get("prize_id", ""))

    @property
    def day(self) -> str:
        """The day of a lottery that the query names, like 20270129. Raises InvalidRequest."""
        day = self.query.get("day", "")
        if not DAY.fullmatch(day):
            raise InvalidRequest([{"field": "day", "message": "is not a day, like 20270129"}])
        return day

    @property
    def user(self) -> Person:
        """Who asks, by the token's subject. Raises Forbidden where that can't be a user id."""
        host_id = check_host_id(str(self.claims.get("sub", "")))
        nickname = composed(str(self.claims.get("nickname", "")))
        is_fit = 0 < len(nickname) <= _NICKNAME_LENGTH_MAX and is_visible(nickname)
        return person_of(host_id, nickname if is_fit and not is_reserved(nickname) else None)

    def require_scope(self, scope: str) -> None:
        """Raise Forbidden unless the token carries *scope*."""
        granted = str(self.claims.get("scope", "")).split()
        if scope not in granted:
            msg = f"this route needs the scope {scope}"
            raise Forbidden(msg)

    @property
    def idempotency_key(self) -> str:
        """The client's key. Raises IdempotencyKeyMissing without a valid one."""
        key = self.headers.get("idempotency-key", "")
        if not 1 <= len(key) <= KEY_LENGTH_MAX:
            msg = "send a header Idempotency-Key of 1 to 255 characters"
            raise IdempotencyKeyMissing(msg)
        return key

    @property
    def key_hash(self) -> str:
        """The client's key as it is kept. Raises IdempotencyKeyMissing."""
        return hashlib.sha256(self.idempotency_key.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """A success; *body* None sends none."""

    body: dict[str, Any] | None
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)


Route: TypeAlias = Callable[[HttpRequest], HttpAnswer]
Schedule: TypeAlias = Callable[[int, Event], dict[str, Any]]


class Api:
    """The routes of one door; an instance is the Lambda's handler."""

    def __init__(self) -> None:
        self._routes: dict[str, Route] = {}
        self._on_schedule: Schedule | None = None

    def route(self, key: str) -> Callable[[Route], Route]:
        """Register a function for a route key of the template, like "GET /me"."""

        def register(function: Route) -> Route:
            self._routes[key] = function
            return function

        return register

    def schedule(self, function: Schedule) -> Schedule:
        """Register what a schedule runs: it gets the time left in ms and the event; errors fly."""
        self._on_schedule = function
        return function

    @property
    def route_keys(self) -> list[str]:
        """All routes of this door."""
        return list(self._routes)

    def summary_of(self, key: str) -> str:
        """Say what a route does, in the words of its function."""
        return (self._routes[key].__doc__ or "").strip()

    def __call__(self, event: Event, context: Any) -> Answer:  # noqa: ANN401 - Lambda's form
        """Answer one request, whose every error becomes a problem; or run the schedule."""
        if self._on_schedule and "routeKey" not in event:
            return self._on_schedule(context.get_remaining_time_in_millis(), event)
        request_id = event["requestContext"]["requestId"]
        try:
            answer = self._routes[event["routeKey"]](_request_of(event))
        except (Rejected, SwitchedOff) as error:
            return _answer(*problem_of(error, request_id))
        except Exception as error:  # noqa: BLE001 - the last resort, logged and answered
            # Known errors come with their cause; unknown ones must not leak theirs.
            is_known = isinstance(error, RedPacketError)
            name = type(error).__name__ if is_known else "unexpected_error"
            logger().exception(name, request_id=request_id, route=event["routeKey"])
            return _answer(*problem_of(error, request_id))
        headers = {"content-type": "application/json", **answer.headers}
        return _answer(answer.status, headers, answer.body)


def _request_of(event: Event) -> HttpRequest:
    authorizer = event["requestContext"].get("authorizer", {})
    return HttpRequest(
        path=event.get("pathParameters") or {},
        query=event.get("queryStringParameters") or {},
        headers={name.lower(): value for name, value in event.get("headers", {}).items()},
        claims=authorizer.get("jwt", {}).get("claims", {}),
        body=_body_of(event),
    )


def _body_of(event: Event) -> bytes:
    text = event.get("body") or ""
    try:
        body = base64.b64decode(text) if event.get("isBase64Encoded") else text.encode()
    except (binascii.Error, UnicodeEncodeError) as error:
        raise InvalidRequest([{"field": "body", "message": "is not readable"}]) from error
    if len(body) > BODY_BYTES_MAX:
        msg = f"bodies are at most {BODY_BYTES_MAX} bytes"
        raise PayloadTooLarge(msg)
    return body


def _answer(status: int, headers: Mapping[str, str], body: dict[str, Any] | None) -> Answer:
    text = "" if body is None else json.dumps(body, ensure_ascii=False, separators=(",", ":"))
    # Nearly every answer is somebody's own; the pages that may be kept say so.
    return {"statusCode": status, "headers": {"cache-control": "no-store", **headers}, "body": text}


def _unique(members: list[tuple[str, Any]]) -> dict[str, Any]:
    """Refuse a name that comes twice: the meant value is unknown."""
    unique = dict(members)
    if len(unique) != len(members):
        msg = "a name comes twice"
        raise ValueError(msg)
    return unique


def _refuse_constant(name: str) -> None:
    msg = f"{name} is not JSON"
    raise ValueError(msg)
