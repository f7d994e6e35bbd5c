"""Comparison of two versions of openapi.json: examples of changes that break a client, and of
changes that do not.
"""

import copy
import json
from typing import Any

import pytest

from local.contract import breaks
from local.openapi import OPENAPI

CONTRACT = json.loads(OPENAPI.read_text(encoding="utf-8"))
SEND, GRAB = ("paths", "/packets", "post"), ("paths", "/packets/{packet_id}/grab", "post")
SENT, BODY, WON = (
    ("components", "schemas", name) for name in ("SentPacket", "SendBody", "DrawWon")
)
PROBLEM = ("components", "responses", "SwitchedOffOrUnavailable", "content")
PROBLEMS = (*PROBLEM, "application/problem+json", "schema", "oneOf")
REMOVED = object()


def _found(*edits: tuple[tuple[str | int, ...], Any]) -> list[str]:
    """Apply *edits* to the contract; return the breaking changes that are reported."""
    changed = copy.deepcopy(CONTRACT)
    for path, value in edits:
        part: Any = changed
        for name in path[:-1]:
            part = part[name]
        if value is REMOVED:
            del part[path[-1]]
        else:
            part[path[-1]] = value
    return breaks(CONTRACT, changed)


def _at(*path: str) -> Any:
    part: Any = CONTRACT
    for name in path:
        part = part[name]
    return part


BROKEN: dict[str, list[tuple[tuple[str | int, ...], Any]]] = {
    "POST /packets/{packet_id}/grab: removed": [(GRAB, REMOVED)],
    "POST /packets: operationId changed": [((*SEND, "operationId"), "fundPacket")],
    "GET /health: fewer callers are allowed": [
        (("paths", "/health", "get", "security"), [{"user": []}])
    ],
    "GET /me/sent: query cursor removed": [
        (
            ("paths", "/me/sent", "get", "parameters"),
            [
                each
                for each in _at("paths", "/me/sent", "get", "parameters")
                if "ursor" not in str(each)
            ],
        )
    ],
    "GET /health: query deep is required": [
        (
            ("paths", "/health", "get", "parameters"),
            [{"in": "query", "name": "deep", "required": True, "schema": {"type": "boolean"}}],
        )
    ],
    "POST /packets: body removed": [((*SEND, "requestBody"), REMOVED)],
    "POST /packets body.greeting: removed": [((*BODY, "properties", "greeting"), REMOVED)],
    "POST /packets body.greeting: required": [
        ((*BODY, "required"), [*_at(*BODY, "required"), "greeting"])
    ],
    "POST /packets body.count: maximum is 5": [
        ((*BODY, "properties", "count"), {"type": "integer", "minimum": 1, "maximum": 5})
    ],
    "POST /packets body.count: only some words": [
        ((*BODY, "properties", "count"), {"type": "integer", "enum": [1, 10]})
    ],
    "POST /packets: 402 removed": [((*SEND, "responses", "402"), REMOVED)],
    "POST /packets: 202 added": [((*SEND, "responses", "202"), _at(*SEND, "responses", "201"))],
    "POST /packets 201: header X-Now-Ms removed": [
        ((*SEND, "responses", "201", "headers", "X-Now-Ms"), REMOVED)
    ],
    "POST /packets 201.packet_id: removed": [((*SENT, "properties", "packet_id"), REMOVED)],
    "POST /packets 201.packet_id: optional": [
        ((*SENT, "required"), [name for name in _at(*SENT, "required") if name != "packet_id"])
    ],
    "POST /packets 201.packet_id: type changed": [
        ((*SENT, "properties", "packet_id"), {"type": "integer"})
    ],
    "POST /packets 201.packet_id: may be null": [
        (
            (*SENT, "properties", "packet_id"),
            {"anyOf": [_at(*SENT, "properties", "packet_id"), {"type": "null"}]},
        )
    ],
    "POST redpacket.draw.won: removed": [(("webhooks", "redpacket.draw.won"), REMOVED)],
    "POST redpacket.draw.won.data.campaign_id: removed": [
        ((*WON, "properties", "campaign_id"), REMOVED)
    ],
}


@pytest.mark.parametrize("broken", BROKEN)
def test_a_broken_promise_is_named_with_its_place(broken: str) -> None:
    assert broken in _found(*BROKEN[broken])


def test_a_removed_problem_code_is_a_broken_promise() -> None:
    found = _found((PROBLEMS, _at(*PROBLEMS[:-1], "oneOf")[1:]))

    assert any(each.startswith("POST /packets 503: ") for each in found)


@pytest.mark.parametrize(
    "edit",
    [
        (("paths", "/new"), _at("paths", "/health")),
        (("webhooks", "redpacket.new"), _at("webhooks", "redpacket.draw.won")),
        ((*BODY, "properties", "color"), {"type": "string"}),
        ((*SENT, "properties", "color"), {"type": "string"}),
        ((*SEND, "responses", "451"), _at(*SEND, "responses", "402")),
        (("info", "description"), "Other words."),
    ],
    ids=lambda edit: "/".join(edit[0]),
)
def test_an_addition_breaks_nothing(edit: tuple[tuple[str, ...], Any]) -> None:
    assert _found(edit) == []


def test_a_wider_request_and_new_enum_values_in_answers_break_nothing() -> None:
    old = _schemas(sent={"type": "integer", "maximum": 5}, received={"enum": ["open"]})
    new = _schemas(sent={"type": "integer", "maximum": 9}, received={"enum": ["open", "late"]})

    assert breaks(old, new) == []
    assert breaks(new, old) == ["GET /x 200: late removed", "GET /x query n: maximum is 5"]


def _schemas(*, sent: dict[str, Any], received: dict[str, Any]) -> dict[str, Any]:
    answer = {"content": {"application/json": {"schema": received}}}
    parameter = {"in": "query", "name": "n", "schema": sent}
    operation = {"operationId": "x", "parameters": [parameter], "responses": {"200": answer}}
    return {"paths": {"/x": {"get": operation}}}
