"""Check of responses against their declarations in openapi.json."""

import json
import re
from functools import cache
from typing import Any

import httpx
import jsonschema_rs

from local.openapi import OPENAPI, PROBLEM_JSON, codes_of, operations

JSON = "application/json"


@cache
def _contract() -> dict[str, Any]:
    contract: dict[str, Any] = json.loads(OPENAPI.read_text(encoding="utf-8"))
    return contract


@cache
def _routes() -> list[tuple[re.Pattern[str], str]]:
    return [(re.compile(re.sub(r"{\w+}", "[^/]+", key)), key) for key in operations()]


@cache
def _validator(key: str, status: str) -> jsonschema_rs.Validator:
    """Return the validator for the operation *key*'s JSON responses with *status*."""
    contract = _contract()
    method, _, path = key.partition(" ")
    response = contract["paths"][path][method.lower()]["responses"][status]
    if "$ref" in response:
        response = contract["components"]["responses"][response["$ref"].rpartition("/")[2]]
    schema = response["content"][JSON]["schema"]
    return jsonschema_rs.validator_for({**schema, "components": contract["components"]})


def assert_declared(answer: httpx.Response) -> None:
    """Check that a JSON success matches its operation's schema, and that a problem has a code that
    the operation declares.
    """
    kind = answer.headers.get("content-type")
    is_success = answer.is_success and kind == JSON
    if kind != PROBLEM_JSON and not is_success:
        return
    answer.read()
    request = answer.request
    path = request.url.raw_path.decode().partition("?")[0]
    called = f"{request.method} /{path.lstrip('/')}"
    (key,) = [key for route, key in _routes() if route.fullmatch(called)]
    if is_success:
        wrong = list(_validator(key, str(answer.status_code)).iter_errors(answer.json()))
        assert not wrong, f"{called} answers {answer.text}: {wrong[0]}"
    else:
        codes = codes_of(operations()[key])
        assert answer.json()["code"] in codes, f"{called} answers {answer.text}"
