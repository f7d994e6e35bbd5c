"""Fuzz test of a local stack's API, with requests that match openapi.json and others.

Schemathesis makes the cases, sends each over HTTP, and compares every response with the contract.
Cases for the bounds of fields come first, up to half of the requested number; random cases follow.
The same seed makes the same cases, but each stack has new ids and times.

python -m testing.platform.fuzz --cases 10000 --seed 1
"""

import argparse
import json
import random
import re
import tempfile
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from http import HTTPStatus
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeAlias
from urllib.parse import unquote

import hypothesis
import jsonschema_rs
import redis
import requests
import schemathesis
from hypothesis import HealthCheck, Phase, Verbosity
from hypothesis import strategies as st
from schemathesis import Case, GenerationMode, Response
from schemathesis.config import ChecksConfig, ProjectConfig, ProjectsConfig, SchemathesisConfig
from schemathesis.core.failures import Failure, FailureGroup
from schemathesis.core.parameters import ParameterLocation
from schemathesis.generation.meta import CoverageScenario, coverage_scenario
from schemathesis.schemas import APIOperation
from schemathesis.specs.openapi.checks import (
    ignored_auth,
    negative_data_rejection,
    positive_data_acceptance,
    unsupported_method,
)

from local.openapi import JSON, OPENAPI, errors_by_code, operations, types_of
from local.ports import HOST
from local.seed_keys import seed_keys_of
from local.stack import Stack
from redpacket.operations.api.scopes import ADMIN_SCOPE
from redpacket.operations.model.limits import LimitName
from redpacket.operations.model.switches import Switch
from redpacket.operations.redis import keys
from redpacket.platform.errors import Malformed, Rejected
from redpacket.platform.text import CODE_POINTS_PER_GRAPHEME_MAX, find_invisible
from testing.reconciliation.ledger_state import lasting, read_ledger_state

AnyCase: TypeAlias = "Case[Any]"
AnyOperation: TypeAlias = "APIOperation[Any, Any, Any, Any]"

FUNDS_FEN = 10**8
TIMEOUT_S = 30
SHOWN_FAILURES = 20
FAILURES_SHOWN_CHARACTERS = 1500

CAMPAIGN_ID = "fuzz"
A_CAMPAIGN = {"title": "模糊", "starts_at_ms": 1, "ends_at_ms": 2, "status": "on"}
LOTTERY_ID = "fuzz-lottery"
A_LOTTERY = {**A_CAMPAIGN, "ends_at_ms": 4 * 10**12, "passphrase": "模糊", "miss_weight": 1}
PRIZE_ID = "fuzz-prize"
A_PRIZE = {"title": "模糊", "kind": "goods", "weight": 1, "total": 1_000}

BINARY = "/transparency/tile/{proxy}"
"""Path whose answers are bytes, which tests/unit/fairness/test_tiles.py checks."""

FEW = {"GET /health": 5, "GET /me": 5, "POST /admin/reconcile": 10}
"""Number of random cases for these routes without parameters, whose cases are all equal."""

OF_STATE = {
    code
    for code, error in errors_by_code().items()
    if issubclass(error, Rejected) and not issubclass(error, Malformed)
}
"""Codes with which a well-formed request can be refused."""

FORBIDDEN_BY_STATE = {"POST /packets/{packet_id}/thanks"}
"""Routes whose 403 also depends on the user's state, and not only on their scopes."""

BEYOND_SCHEMA = (
    # Bounds of the deployment, which may be lower than the contract's.
    (re.compile("count|share_fen_max"), re.compile(r"is above \d+")),
    # Rules that no JSON schema can state: graphemes, and fields that depend on each other.
    (
        re.compile("greeting|nickname|display_name|title|description|passphrase|reason|note|text"),
        re.compile(r"is longer than \d+ characters"),
    ),
    (re.compile("nickname|text"), re.compile("is or looks reserved. Choose another")),
    (re.compile("text"), re.compile(r"is longer than \d+ bytes")),
    (
        re.compile("body"),
        re.compile("emoji or text is required|remove_all takes no add, remove or mode"),
    ),
    (re.compile("end_now"), re.compile("needs a campaign that has started. .*")),
    (
        re.compile("avatar_url|cover_url"),
        re.compile("is not on a host of this deployment|is not a picture of yours. .*"),
    ),
    (
        re.compile("picture"),
        re.compile("is not base64|is not a JPEG, PNG.*|is damaged or animated.*"),
    ),
    (re.compile("ends_at_ms"), re.compile("can't be later: .*")),
    (
        re.compile("starts_at_ms"),
        re.compile(
            "is more than 30 days ahead|is not before the end .*|is before the start .*"
            "|is in the past|lets the last round end after the campaign"
        ),
    ),
    (re.compile("packets"), re.compile(r"makes \d+ packets in all rounds.*")),
    (re.compile("campaign_id"), re.compile("is required. Name the campaign that pays")),
    (re.compile("pay_with"), re.compile("is not allowed with campaign_id: .*")),
    (re.compile("reference"), re.compile("is required for an outside transfer")),
    (re.compile("user"), re.compile("must be another account|is required for the status .*")),
    (re.compile("body"), re.compile(r"split \w+ does not go with kind \w+")),
    (re.compile("body"), re.compile("ends_at_ms is not after starts_at_ms")),
    (re.compile(r"recipients\.\d+"), re.compile("is not a user's token")),
    (re.compile("inviter_token"), re.compile("is not a user's token")),
    # A prize: its creation, and the maximum of its stock.
    (re.compile("body"), re.compile("kind packet requires amount_fen, and other kinds forbid it")),
    (re.compile("body|total"), re.compile(r"all units together exceed the limit of \d+ fen")),
    (re.compile("kind|amount_fen"), re.compile("never changes: it is .*")),
    (
        re.compile("total"),
        re.compile(r"changes only through the stock route: it is \d+|must be 0 for .*"),
    ),
    (
        re.compile("amount_fen"),
        re.compile(r"must be at most \d+. Split the deposit|exceeds the limit of \d+ fen"),
    ),
    (
        re.compile("delta"),
        re.compile("would exceed .*|.* are already won|cannot change .*"),
    ),
    (re.compile("name|address"), re.compile("is longer than .*")),
    (re.compile("prize_id"), re.compile("would exceed the limit of .*")),
    (re.compile("timezone"), re.compile("is not a time zone, like Asia/Shanghai")),
    (re.compile("timezone"), re.compile("never changes once there are prizes: .*")),
    # The log size for which a proof is requested.
    (re.compile("size|from|to"), re.compile(r"must be at most \d+, the size of the log")),
    # A list accepts only cursors from the same filter.
    (
        re.compile("cursor"),
        re.compile("is not a cursor of this list: .*|must be `next` of the previous page.*"),
    ),
    # Lists of users, won goods, and targets of events.
    (re.compile("remove"), re.compile(r"\d+ of them are also in add. List each user once")),
    (re.compile("body"), re.compile(r"add and remove are at most \d+ users together")),
    (re.compile("unit"), re.compile("is cash, which is paid automatically.*|is a code.*")),
    (re.compile("url"), re.compile("must be an address of this deployment's page")),
    (re.compile("add"), re.compile("requires a prize of kind code, not .*")),
    (re.compile("url"), re.compile("the address must be an https URL .*|http is only .*|Port .*")),
    (re.compile("name"), re.compile(r"would exceed the limit of \d+ webhooks. Edit one instead")),
    (re.compile("passphrase"), re.compile("needs at least one letter or digit")),
    (
        re.compile("budget_fen"),
        re.compile(r"must be at least \d+, the fen that are already in packets"),
    ),
)
"""Fields of requests that match the schema but may still be refused, with the messages."""

SAFE_LIMIT = "payouts_at_once"
SAFE_SWITCH = "withdraw"
"""Switch that is turned on instead of any other, because the fuzz needs sends, grabs and draws."""

LIMITED = {"POST /packets": "send", "POST /campaigns/{campaign_id}/draws": "draw"}
"""Limits of one user, keyed by route."""

# ---------------------------------------------------------------- checks


def accepted_if_well_formed(_context: object, response: Response, case: AnyCase) -> bool | None:
    """Check that a refusal of well-formed data concerns the ledger's state. This is stricter than
    the library's check, which only compares statuses and accepts any 404 or 409.
    """
    if _mode(case) is not GenerationMode.POSITIVE or response.status_code < HTTPStatus.BAD_REQUEST:
        return None
    problem = response.json()
    code = problem.get("code")
    if code in OF_STATE or (code == "invalid_request" and _is_beyond_schema(problem)):
        return None
    if code == "forbidden" and case.operation.label in FORBIDDEN_BY_STATE:
        return None
    if code == "idempotency_key_missing" and not _sent_key(response).strip():
        return None  # HTTP strips white space from both ends of a header.
    raise _Refused(operation=case.operation.label, message=f"Well formed, but refused: {problem}")


class _Refused(Failure):
    """Failure: well-formed data was refused because of its form."""

    kind_title = "Well-formed data refused"


class _OtherMethod(Failure):
    """Failure: a method without a route was not answered as the gateway does."""

    kind_title = "Method without a route"


def not_found_if_no_route(_context: object, response: Response, case: AnyCase) -> bool | None:
    """Check that a method without a route gets the gateway's 404.

    The library expects 405 with Allow, as most servers return. API Gateway returns 404 if the path
    or the method has no route. The emulator returns 403 for OPTIONS, as it does for a preflight
    request from an origin outside `EmbedOrigins`.
    """
    if coverage_scenario(case) is not CoverageScenario.UNSPECIFIED_HTTP_METHOD:
        return None
    expected = (HTTPStatus.NOT_FOUND, {"message": "Not Found"})
    if case.method == "OPTIONS":
        expected = (HTTPStatus.FORBIDDEN, {"message": "CORS origin denied"})
    if (response.status_code, response.json()) != expected:
        message = f"{response.status_code} {response.text}"
        raise _OtherMethod(operation=case.operation.label, message=message)
    return None


def _leave_switches_on(case: AnyCase) -> None:
    """Replace a case's switch with a harmless one that stays on, and its limit with a reset one."""
    if (case.path_parameters or {}).get("name") in set(LimitName):
        case.path_parameters["name"] = SAFE_LIMIT
        if isinstance(case.body, dict) and isinstance(case.body.get("value"), int):
            case.body["value"] = None
    if (case.path_parameters or {}).get("name") in set(Switch):
        case.path_parameters["name"] = SAFE_SWITCH
        if isinstance(case.body, dict) and case.body.get("on") is False:
            case.body["on"] = True


def _is_beyond_schema(problem: dict[str, Any]) -> bool:
    return all(
        any(
            field_name.fullmatch(error["field"]) and message.fullmatch(error["message"])
            for field_name, message in BEYOND_SCHEMA
        )
        for error in problem["errors"]
    )


def _sent_key(response: Response) -> str:
    key = response.request.headers.get("Idempotency-Key", "")
    return key.decode("latin-1") if isinstance(key, bytes) else key


def _is_of_form(case: AnyCase, location: ParameterLocation) -> bool:
    """Return whether a part of the request was generated to match the contract."""
    component = case.meta.components.get(location) if case.meta else None
    return component is not None and component.mode.is_positive


def _is_wrong_anywhere(case: AnyCase, response: Response) -> bool:
    """Return whether a case that was generated as invalid is invalid; sometimes the library
    generates a valid one.
    """
    components = case.meta.components.items() if case.meta else []
    wrong = {location for location, component in components if component.mode.is_negative}
    operation = operations()[case.operation.label]
    body, _ = types_of(operation)
    if not (response.request.body or operation.key in _routes_with_required_bodies()):
        wrong.discard(ParameterLocation.BODY)  # No body was sent, and none is required.
    elif body and _is_valid(body.__name__, case.body):
        wrong.discard(ParameterLocation.BODY)  # To the library, any text violates `visible-text`.
    sent = case.path_parameters or {}  # percent-encoded
    if all(
        jsonschema_rs.is_valid(dict(parameter.form), unquote(str(sent.get(parameter.name))))
        for parameter in operation.parameters
        if parameter.place == "path"
    ):
        wrong.discard(ParameterLocation.PATH)
    places = {parameter.place for parameter in operation.parameters}
    if "headers" not in places:
        wrong.discard(ParameterLocation.HEADER)  # The token's header always gets a valid token.
    if "query" not in places:
        wrong.discard(ParameterLocation.QUERY)  # The API ignores unknown query parameters.
    return bool(wrong)


@cache
def _routes_with_required_bodies() -> set[str]:
    return {
        f"{method.upper()} {path}"
        for path, methods in the_contract()["paths"].items()
        for method, operation in methods.items()
        if operation.get("requestBody", {}).get("required")
    }


def _is_valid(name: str, body: object) -> bool:
    try:
        return isinstance(body, dict) and bool(_body_validator(name).is_valid(body))
    except ValueError:
        return False  # A lone surrogate is not valid JSON.


@cache
def _body_validator(name: str) -> Any:
    schema = {"$ref": f"#/components/schemas/{name}", "components": the_contract()["components"]}
    return jsonschema_rs.validator_for(
        schema, validate_formats=True, formats={"visible-text": _is_visible}
    )


def _is_visible(text: str) -> bool:
    return find_invisible(text) is None


def _mode(case: AnyCase) -> GenerationMode | None:
    return case.meta.generation.mode if case.meta else None


# ---------------------------------------------------------------- cases


def _visible_text() -> st.SearchStrategy[str]:
    hidden: Any = ("C", "Zl", "Zp")
    short = st.text(st.characters(exclude_categories=hidden), max_size=32).filter(_is_visible)
    return short | st.sampled_from(_text_lengths()).map("x".__mul__)


@cache
def _text_lengths() -> list[int]:
    """Return the lengths around every bound of a visible text, which random texts rarely reach."""
    lengths: set[int] = set()

    def add_bounds(schema: dict[str, Any]) -> dict[str, Any]:
        if schema.get("format") == "visible-text":
            longest = schema["maxLength"]
            most = longest // CODE_POINTS_PER_GRAPHEME_MAX
            lengths.update((most, most + 1, longest - 1, longest, longest + 1))
        return schema

    json.loads(OPENAPI.read_text(encoding="utf-8"), object_hook=add_bounds)
    return sorted(lengths)


def the_contract() -> dict[str, Any]:
    """Return openapi.json."""
    contract: dict[str, Any] = json.loads(OPENAPI.read_text(encoding="utf-8"))
    return contract


def loaded(contract: dict[str, Any], api: str) -> Any:
    """Return *contract* as the library's schema, for the API at the address *api*."""
    schemathesis.openapi.format("visible-text", _visible_text())
    checks = ChecksConfig()
    # By default, the library does not expect this status for invalid data.
    checks.negative_data_rejection.expected_statuses = [
        *checks.negative_data_rejection.expected_statuses,
        str(HTTPStatus.REQUEST_ENTITY_TOO_LARGE.value),
    ]
    project = ProjectConfig(base_url=api, checks=checks)
    config = SchemathesisConfig(projects=ProjectsConfig(default=project))
    return schemathesis.openapi.from_dict(contract, config=config)


def coverage(operation: AnyOperation) -> Iterator[AnyCase]:
    """Yield the library's cases for the bounds of every field, well-formed and not."""
    schema = operation.schema
    generation = schema.config.generation_for(operation=operation, phase="coverage")
    modes = list(GenerationMode)
    yield from schema.iter_coverage_cases(
        operation, generation_modes=modes, generation_config=generation
    )


def _only(named: dict[str, str], wanted: dict[str, Any]) -> dict[str, str]:
    return {name: value for name, value in named.items() if name in wanted}


def _whole(value: Any) -> Any:
    """Write whole floats as integers, because JSON Schema accepts 2.0 as one, but the API
    does not.
    """
    if isinstance(value, dict):
        return {key: _whole(item) for key, item in value.items()}
    return int(value) if isinstance(value, float) and value.is_integer() else value


# ---------------------------------------------------------------- the fuzz


@dataclass
class Report:
    """Counts of requests and failures, with an example of each kind of failure."""

    case_count: int = 0
    failure_count: int = 0
    statuses: Counter[str] = field(default_factory=Counter)
    examples: dict[str, str] = field(default_factory=dict)

    def add(self, case: AnyCase, failure: Failure) -> None:
        """Count a failure, and store the first one of each kind with a command that
        reproduces it.
        """
        self.failure_count += 1
        kind = f"{case.operation.label}: {failure.title}"
        self.examples.setdefault(kind, f"{failure.message}\n{case.as_curl_command()}")

    def __str__(self) -> str:
        lines = [f"{status}: {count}" for status, count in sorted(self.statuses.items())]
        for kind, example in list(self.examples.items())[:SHOWN_FAILURES]:
            lines.append(f"FAILED {kind}\n{example[:FAILURES_SHOWN_CHARACTERS]}")
        return "\n".join(lines)


class Fuzz:
    """Sender of *contract*'s cases to one stack, as a user with money and as an operator."""

    def __init__(self, stack: Stack, seed: int, contract: dict[str, Any] | None = None) -> None:
        self.report = Report()
        self._contract = contract or the_contract()
        self._seed = seed
        self._random = random.Random(seed)
        self._api = stack.api
        self._operator = {"Authorization": f"Bearer {stack.token('fuzz-op', scope=ADMIN_SCOPE)}"}
        self._user = {"Authorization": f"Bearer {stack.token('fuzz-user', nickname='模糊')}"}
        self._cache = redis.Redis(host=HOST, port=stack.redis_port)
        self._packet_ids: list[str] = []
        self._is_auth_proven: set[str] = set()
        self._session = requests.Session()
        # Ignore the proxy and password file of the user who runs this.
        self._session.trust_env = False

    def __enter__(self) -> Self:
        """Deposit money for the user, and create some packets, two campaigns and a prize."""
        self._post("/admin/deposits", {"user": "fuzz-user", "amount_fen": FUNDS_FEN})
        for more in ({"count": 100}, {"count": 1}, {"count": 2, "expires_in_s": 1}):
            body = {"kind": "lucky", "total_fen": 1000, **more}
            sent = self._post("/packets", body)
            self._packet_ids.append(sent["packet_id"])
        self._post(f"/packets/{self._packet_ids[1]}/grab", {})
        self._put(f"/admin/campaigns/{CAMPAIGN_ID}", A_CAMPAIGN)
        self._put(f"/admin/campaigns/{LOTTERY_ID}", A_LOTTERY)
        self._put_prize()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the connections."""
        self._session.close()
        self._cache.close()

    def run(self, case_count: int) -> Report:
        """Send one case per route without a token, then coverage cases up to half of *case_count*,
        and then random cases.
        """
        contract = loaded(self._contract, self._api).exclude(path=BINARY)
        operations = [operation.ok() for operation in contract.get_all_operations()]
        for operation in operations:
            self._send_without_token(operation)
        self._send_coverage(operations, case_count // 2)
        turn = 0
        while self.report.case_count < case_count:
            turn += 1
            missing = case_count - self.report.case_count
            self._send_random(operations, missing, turn)
        return self.report

    def _send_without_token(self, operation: AnyOperation) -> None:
        body: dict[str, Any] = {"body": {}, "media_type": JSON} if operation.body else {}
        path = {"packet_id": self._packet_ids[0], "campaign_id": CAMPAIGN_ID, "name": SAFE_SWITCH}
        path |= {"prize_id": PRIZE_ID, "unit": f"{PRIZE_ID}.1", "approval_id": "0" * 32}
        path |= {"run_id": "0" * 32, "draw_id": "0" * 32, "picture_id": "0" * 22}
        path |= {"share_no": "1", "connector": "telegram", "chat_id": "-1"}
        # The user is a well-formed token that belongs to no user.
        path |= {"payment_id": "0" * 32, "withdrawal_id": "0" * 30, "user": "stranger"}
        if operation.path.startswith("/admin/limits"):
            path["name"] = SAFE_LIMIT
        named = {name: path[name] for name in path if f"{{{name}}}" in operation.path}
        case = operation.Case(path_parameters=named, **body)
        self._send(case, {})

    def _send_coverage(self, operations: list[AnyOperation], limit: int) -> None:
        left = max(0, limit - self.report.case_count)
        # Generating the cases of all routes takes seconds, so a small number of cases uses as few
        # routes.
        chosen = self._random.sample(operations, min(left, len(operations)))
        cases = [case for operation in chosen for case in coverage(operation)]
        self._random.shuffle(cases)
        for case in cases[:left]:
            self._send(case, self._token_for(case))

    def _send_random(self, operations: list[AnyOperation], missing: int, turn: int) -> None:
        kinds = [(operation, mode) for operation in operations for mode in GenerationMode]
        for number, (operation, mode) in enumerate(kinds):
            left = missing // len(kinds) + (number < missing % len(kinds))
            few = FEW.get(operation.label)
            if few is not None:
                left = min(left, few) if turn == 1 else 0
            if left:
                self._send_some(operation, mode, left, f"{self._seed} {turn} {number}")

    def _send_some(
        self, operation: AnyOperation, mode: GenerationMode, count: int, seed: str
    ) -> None:
        @hypothesis.seed(random.Random(seed).getrandbits(64))
        @hypothesis.settings(
            max_examples=count,
            database=None,
            deadline=None,
            phases=[Phase.generate],
            verbosity=Verbosity.quiet,
            suppress_health_check=list(HealthCheck),
        )
        @hypothesis.given(case=operation.as_strategy(generation_mode=mode), data=st.data())
        def send(case: AnyCase, data: st.DataObject) -> None:
            if self.report.case_count < limit:
                self._make_real(case, data)
                self._send(case, self._token_for(case))

        limit = self.report.case_count + count
        try:
            send()
        except hypothesis.errors.Unsatisfiable:
            assert mode is GenerationMode.NEGATIVE  # No part of this route can be invalid.

    def _make_real(self, case: AnyCase, data: st.DataObject) -> None:
        """Give half of the cases existing packets, campaigns and prizes, or small orders."""
        is_sane = _mode(case) is GenerationMode.POSITIVE
        names_packet = "{packet_id}" in case.path and _is_of_form(case, ParameterLocation.PATH)
        if names_packet and data.draw(st.booleans()):
            real = {"packet_id": data.draw(st.sampled_from(self._packet_ids[:50]))}
            case.path_parameters = {**case.path_parameters, **real}
        names_campaign = "{campaign_id}" in case.path and _is_of_form(case, ParameterLocation.PATH)
        if names_campaign and data.draw(st.booleans()):
            # An edit could end the lottery, so only the lottery's prizes are edited.
            is_of_lottery = "/prizes/" in case.path or "/admin/" not in case.path
            real = {"campaign_id": LOTTERY_ID if is_of_lottery else CAMPAIGN_ID}
            # A PUT can't change an existing prize's total, so PUTs keep their random prize ids and
            # usually create a prize.
            real |= {} if case.method == "PUT" else {"prize_id": PRIZE_ID}
            case.path_parameters = {**case.path_parameters, **_only(real, case.path_parameters)}
        if is_sane and case.operation.label == "POST /packets" and data.draw(st.booleans()):
            count = data.draw(st.integers(1, 10))
            order = {"count": count, "total_fen": count * data.draw(st.integers(1, 20))}
            kept = {"kind", "greeting", "expires_in_s", "opening", "unit_fen"}
            body: Any = case.body
            case.body = {key: body[key] for key in body if key in kept} | order

    def _token_for(self, case: AnyCase) -> dict[str, str]:
        """Return the header with the token, unless the case tests this header."""
        data = case.meta.phase.data if case.meta else None
        if data and "Authorization" in {
            data.parameter,
            *(mutation.parameter for mutation in data.mutations),
        }:
            return {}
        is_of_campaign = isinstance(case.body, dict) and "campaign_id" in case.body
        needs_scope = operations()[case.operation.label].scopes or is_of_campaign
        return self._operator if needs_scope else self._user

    def _send(self, case: AnyCase, token: dict[str, str]) -> None:
        """Send a case, and record which rules of the contract its answer breaks."""
        label = case.operation.label
        if _is_of_form(case, ParameterLocation.BODY):
            case.body = _whole(case.body)
        _leave_switches_on(case)
        if limit := LIMITED.get(label):
            # Otherwise, the rate limit would refuse this fast user, and those requests would test
            # nothing.
            self._cache.delete(keys.limit(limit, "fuzz-user"))
        self.report.case_count += 1
        excluded: list[Any] = [positive_data_acceptance, unsupported_method]
        if label in self._is_auth_proven:
            excluded.append(ignored_auth)
        response = case.call(session=self._session, headers=token, timeout=TIMEOUT_S)
        if not _is_wrong_anywhere(case, response):
            excluded.append(negative_data_rejection)
        self.report.statuses[f"{label} {response.status_code}"] += 1
        try:
            case.validate_response(
                response,
                additional_checks=[accepted_if_well_formed, not_found_if_no_route],
                excluded_checks=excluded,
                headers=token,
                transport_kwargs={"session": self._session, "timeout": TIMEOUT_S},
            )
        except FailureGroup as group:
            for failure in group.exceptions:
                self.report.add(case, failure)
        if response.status_code < HTTPStatus.MULTIPLE_CHOICES:
            # One successful request per route is repeated without a token, and with a wrong one.
            self._is_auth_proven.add(label)
            if label == "POST /packets":
                self._packet_ids.append(response.json()["packet_id"])

    def _put_prize(self) -> None:
        """Create the prize, unless an earlier run did, because its stock may have changed since
        then.
        """
        path = f"/admin/campaigns/{LOTTERY_ID}"
        body = self._session.get(
            f"{self._api}{path}", headers=self._operator, timeout=TIMEOUT_S
        ).json()
        if PRIZE_ID not in {prize["prize_id"] for prize in body["prizes"]}:
            self._put(f"{path}/prizes/{PRIZE_ID}", A_PRIZE)

    def _put(self, path: str, body: dict[str, Any]) -> None:
        url = f"{self._api}{path}"
        answer = self._session.put(url, json=body, headers=self._operator, timeout=TIMEOUT_S)
        answer.raise_for_status()

    def _post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        token = self._operator if "/admin/" in path else self._user
        headers = {**token, "Idempotency-Key": uuid.uuid4().hex}
        url = f"{self._api}{path}"
        answer = self._session.post(url, json=body, headers=headers, timeout=TIMEOUT_S)
        answer.raise_for_status()
        content: dict[str, Any] = answer.json()
        return content


def broken_invariants(stack: Stack) -> list[str]:
    """Return the broken invariants of the ledger."""
    names = ("Accounts", "Packets", "Shares", "Campaigns", "Draws", "Quotas", "Payments", "Journal")
    tables = [stack.outputs[f"{name}Table"] for name in names]
    seeds = seed_keys_of(stack)
    dynamodb = stack.aws("dynamodb")
    differences = lasting(lambda: read_ledger_state(dynamodb, *tables, seeds=seeds).differences())
    return [str(difference) for difference in differences]


def main(say: Callable[[str], None] = print) -> int:
    """Fuzz a new stack; the last line is JSON."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--cases", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    say(f"seed {given.seed}")
    with tempfile.TemporaryDirectory() as folder, Stack(Path(folder)) as stack:
        began_at = time.monotonic()
        with Fuzz(stack, given.seed) as fuzz:
            report = fuzz.run(given.cases)
        seconds = round(time.monotonic() - began_at, 1)
        broken = broken_invariants(stack)
    say(str(report))
    for difference in broken:
        say(f"FAILED {difference}")
    failures = report.failure_count + len(broken)
    figures = {"cases": report.case_count, "failures": failures}
    say(json.dumps({**figures, "seed": given.seed, "seconds": seconds}))
    return 1 if failures else 0


if __name__ == "__main__":
    raise SystemExit(main())
