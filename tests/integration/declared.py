"""The codes that each operation declares, held against every answer of the deployed stack."""

from __future__ import annotations

import re
from functools import cache

import httpx

from local.openapi import PROBLEM_JSON, codes_of, operations


@cache
def _codes_by_route() -> list[tuple[re.Pattern[str], set[str]]]:
    return [
        (re.compile(re.sub(r"{\w+}", "[^/]+", key)), codes_of(operation))
        for key, operation in operations().items()
    ]


def assert_declared(answer: httpx.Response) -> None:
    """Check that a problem has a code that its operation declares."""
    if answer.headers.get("content-type") != PROBLEM_JSON:
        return
    answer.read()
    request = answer.request
    path = request.url.raw_path.decode().partition("?")[0]
    called = f"{request.method} /{path.lstrip('/')}"
    (declared,) = [codes for route, codes in _codes_by_route() if route.fullmatch(called)]
    assert answer.json()["code"] in declared, f"{called} answers {answer.text}"
