"""Writes openapi.json: the HTTP contract, as the doors declare it.

An operation is declared by `@handler.route(...)` at its door, its answer by edge/answers, its body
by edge/schemas/, and the statuses of problems by edge/problems.py. `make openapi` writes it,
and tests/unit/test_openapi.py holds it to the code.
"""

from __future__ import annotations

import importlib.util
import inspect
import json
from functools import cache
from http import HTTPStatus
from types import NoneType
from typing import Any, TypeAlias, get_args, get_type_hints

from pydantic import TypeAdapter
from pydantic.json_schema import GenerateJsonSchema

import redpacket
from local import places
from redpacket.domain.errors import Forbidden
from redpacket.domain.events import EventType
from redpacket.edge.answers import (
    approvals,
    campaigns,
    events,
    lists,
    log,
    operators,
    packets,
    payments,
    webhooks,
)
from redpacket.edge.api import BODY_BYTES_MAX, NO_STORE, UBIQUITOUS, Api, Operation
from redpacket.edge.csv_pages import CSV
from redpacket.edge.parameters import Parameter
from redpacket.edge.problems import RETRIED, STATUS_BY_CODE
from redpacket.edge.schemas import claims, draws, sending
from redpacket.edge.schemas.fields import NICKNAME_GRAPHEMES_MAX
from redpacket.edge.schemas.sending import GREETING_GRAPHEMES_MAX

Schema: TypeAlias = dict[str, Any]

OPENAPI = places.ROOT / "openapi.json"
JSON = "application/json"
PROBLEM_JSON = "application/problem+json"

EVERYWHERE = [error.code for error in UBIQUITOUS if error is not Forbidden]
"""The problems of every route, also of one without a token."""

TAGS = {
    "Packets": "Send a packet, take a share, and look at what became of it.",
    "Me": "What belongs to the caller: profile, balance, lists and transfers.",
    "Campaigns": "A campaign's lottery: draws, help from friends, and proofs.",
    "Payments": "Money in and out by a payment gateway: the host's wallet, or WeChat Pay.",
    "Log": "What packets and campaigns committed to, in a signed log for everybody.",
    "Operators": "Money in, campaigns, prizes, switches and checks.",
    "Service": "The service itself.",
}
_PAYMENT_PATHS = ("/me/payments", "/me/withdrawals", "/me/wechat", "/auth/", "/gateway/")
_TAG_BY_PATH = {
    "packets": "Packets",
    "me": "Me",
    "campaigns": "Campaigns",
    "admin": "Operators",
    "transparency": "Log",
    "health": "Service",
}
_DOORS = [
    "send",
    "grab",
    "profile",
    "records",
    "campaign",
    "prize",
    "lottery",
    "payment",
    "gateway",
    "admin",
    "approval",
]
"""The order of the operations; other doors follow."""

_GATEWAY_ANSWERS = {
    HTTPStatus.UNAUTHORIZED: "No token, or none that is valid here and now.",
    HTTPStatus.NOT_FOUND: "A path parameter that makes another path: with a slash, or empty.",
    HTTPStatus.TOO_MANY_REQUESTS: "More requests than the stage's throttle lets through.",
}
_GATEWAY_MESSAGE: Schema = {
    "type": "object",
    "description": "The gateway's own answer, which an API on API Gateway can't shape.",
    "properties": {"message": {"type": ["string", "null"]}},
    "required": ["message"],
    "additionalProperties": False,
}

_DESCRIPTION = f"""\
Money is in fen and time in milliseconds, both integers: `1.0` is rejected. Bodies are at most
{BODY_BYTES_MAX} bytes. Clients switch on a problem's `code`.

Text of the format `visible-text` holds no control, bidi, zero-width, blank, private or unassigned
character; a greeting has at most {GREETING_GRAPHEMES_MAX} graphemes, a nickname
{NICKNAME_GRAPHEMES_MAX}. The split `equal` goes with the kind `equal`, the others with
`lucky`.

A deployment may set lower bounds for `count` and `share_fen_max` than are written here.
"""

# ---------------------------------------------------------------- what the doors declare


@cache
def operations() -> dict[str, Operation]:
    """Return what every door declares, by route; doors are loaded by path, as Lambda does."""
    found: dict[str, Operation] = {}
    files = {file.parent.name: file for file in (places.ROOT / "functions").glob("*/app.py")}
    for door in sorted(files, key=lambda name: (*_DOORS, name).index(name)):
        spec = importlib.util.spec_from_file_location(f"door_{door}", files[door])
        assert spec
        assert spec.loader
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        if isinstance(module.handler, Api):
            found |= module.handler.operations
    return found


def types_of(operation: Operation) -> tuple[Any, Any]:
    """Return the type of the body, or None, and that of the answer."""
    names = {
        **vars(sending),
        **vars(claims),
        **vars(draws),
        **vars(packets),
        **vars(campaigns),
        **vars(operators),
        **vars(log),
        **vars(lists),
        **vars(approvals),
        **vars(payments),
        **vars(webhooks),
    }
    hints = get_type_hints(operation.function, localns=names)
    (answer,) = get_args(hints["return"])
    body = next(iter(get_args(hints["request"])), None)
    return body, get_args(answer)[0] if _waits(answer) else answer


def waits(operation: Operation) -> bool:
    """Tell whether an operation may wait for another operator's approval."""
    return "AwaitingApproval" in str(operation.function.__annotations__["return"])


def _waits(answer: Any) -> bool:  # noqa: ANN401 - any type of an answer
    return approvals.AwaitingApproval in get_args(answer)


def _tag_of(path: str) -> str:
    return "Payments" if path.startswith(_PAYMENT_PATHS) else _TAG_BY_PATH[path.split("/")[1]]


def codes_of(operation: Operation) -> set[str]:
    """Return the problems that an operation may answer."""
    ubiquitous = {error for error in UBIQUITOUS if not (operation.is_public and error is Forbidden)}
    return {error.code for error in {*operation.refusals, *ubiquitous}}


# ---------------------------------------------------------------- forms


class _Generator(GenerateJsonSchema):
    """Makes answers strict, and leaves out titles that only repeat a field's name."""

    def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ANN401, ARG002 - pydantic's form
        return False

    def typed_dict_schema(self, schema: Any) -> Schema:  # noqa: ANN401 - pydantic's form
        return {**super().typed_dict_schema(schema), "additionalProperties": False}

    def sort(self, value: Any, parent_key: str | None = None) -> Any:  # noqa: ANN401, ARG002 - see above
        """Leave fields in the order in which they are declared."""
        return value


@cache
def _forms() -> Schema:
    named = {kind for operation in operations().values() for kind in types_of(operation)}
    named |= {*events.DATA.values(), approvals.AwaitingApproval}
    found = named - {None, NoneType}
    _, generated = TypeAdapter.json_schemas(
        [(kind.__name__, "validation", TypeAdapter(kind)) for kind in found],
        ref_template="#/components/schemas/{model}",
        schema_generator=_Generator,
    )
    forms: Schema = generated["$defs"]
    for form in forms.values():
        form.pop("title", None)
    words = {name: form for name, form in forms.items() if "enum" in form}
    return {
        name: _with_words(form, words) for name, form in sorted(forms.items()) if name not in words
    }


def _with_words(form: Any, words: Schema) -> Any:  # noqa: ANN401 - any JSON schema
    """Write enumerations where they are used: their own descriptions are for developers."""
    if isinstance(form, list):
        return [_with_words(part, words) for part in form]
    if not isinstance(form, dict):
        return form
    named = words.get(str(form.get("$ref")).rpartition("/")[2])
    if named:
        form = {**form, "type": "string", "enum": named["enum"]}
        del form["$ref"]
    return {key: _with_words(part, words) for key, part in form.items()}


def forms() -> list[str]:
    """Return the names of the components that answers are made of, and what bodies contain."""
    bodies = {types_of(operation)[0] for operation in operations().values()}
    read = {body.__name__ for body in bodies if body}
    return [*(name for name in _forms() if name not in read), "GatewayMessage"]


def problem_name(code: str) -> str:
    """Return the name of a problem's schema: packet_not_found's is PacketNotFoundProblem."""
    return "".join(word.capitalize() for word in code.split("_")) + "Problem"


def _problem(code: str, status: int) -> Schema:
    word: Schema = {"type": "string", "minLength": 1}
    properties: Schema = {
        "type": {"const": f"/problems/{code.replace('_', '-')}"},
        "title": {"const": code.replace("_", " ").capitalize()},
        "status": {"const": status},
        "detail": {"type": "string"},
        "code": {"const": code},
        "instance": {**word, "description": "The request's id, for the operator."},
    }
    if code == "invalid_request":
        error = _object({"field": word, "message": word})
        properties["errors"] = {"type": "array", "items": error, "minItems": 1}
    form = _object(properties)
    if code == "beacon_pending":
        count: Schema = {"type": "integer", "minimum": 1}
        begun = {"n": count, "attempted_at_ms": count, "beacon_round": count, "odds": word}
        told = "A draw that waits for a round of its own: keep it, as the round is still unknown."
        properties["draw"] = {**_object(begun), "description": told}
    return form


def _object(properties: Schema) -> Schema:
    fixed = {"required": list(properties), "additionalProperties": False}
    return {"type": "object", "properties": properties, **fixed}


def _ref(name: str) -> Schema:
    return {"$ref": f"#/components/schemas/{name}"}


# ---------------------------------------------------------------- the document


def document() -> Schema:
    """Return the whole contract."""
    paths: Schema = {}
    found = {name: dict(form) for name, form in _forms().items()}
    for key, operation in operations().items():
        method, path = key.split()
        paths.setdefault(path, {})[method.lower()] = _operation(operation, found)
    for form in found.values():
        # The example of a whole body stands at its requests.
        form.pop("example", None)
    problems = {problem_name(code): _problem(code, its) for code, its in STATUS_BY_CODE.items()}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "redpacket",
            "version": redpacket.__version__,
            "summary": "Red packets (红包) whose every share has one durable fate.",
            "description": _DESCRIPTION,
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": "/"}],
        "security": [{"user": []}],
        "tags": [{"name": name, "description": text} for name, text in TAGS.items()],
        "paths": paths,
        "webhooks": {kind.value: _webhook(kind) for kind in events.DATA},
        "components": {
            "schemas": {**found, "GatewayMessage": _GATEWAY_MESSAGE, **problems},
            "securitySchemes": {
                "user": {"type": "http", "scheme": "bearer", "bearerFormat": "JWT"},
            },
        },
    }


_CSV_PAGE: Schema = {
    "type": "string",
    "description": "The items as CSV, for who accepts `text/csv` before JSON. A text that a "
    "spreadsheet would take for a formula begins with an apostrophe.",
}
_NEXT_CURSOR: Schema = {
    "description": "Only with CSV: `next`, missing on the last page.",
    "schema": {"type": "string"},
}


def text() -> str:
    """Return the document as the file holds it."""
    return json.dumps(document(), ensure_ascii=False, indent=2) + "\n"


def _operation(operation: Operation, found: Schema) -> Schema:
    first, *rest = operation.function.__name__.split("_")
    summary, _, more = (inspect.getdoc(operation.function) or "").partition("\n\n")
    described: Schema = {
        "operationId": first + "".join(word.capitalize() for word in rest),
        "tags": [_tag_of(operation.key.partition(" ")[2])],
        "summary": summary,
    }
    if operation.is_public:
        described["security"] = []
    elif operation.scopes:
        # Each alone is enough.
        described["security"] = [{"user": [scope]} for scope in operation.scopes]
        named = " or ".join(f"`{scope}`" for scope in operation.scopes)
        more = f"{more} For tokens with the scope {named}.".lstrip()
    if more:
        described["description"] = more
    if operation.parameters:
        described["parameters"] = [_parameter(each) for each in operation.parameters]
    body, answer = types_of(operation)
    if body:
        content: Schema = {"schema": _ref(body.__name__)}
        # An example of a whole body belongs to the request, where tools look for it.
        example = found[body.__name__].get("example")
        described["requestBody"] = {
            "required": "required" in found[body.__name__],
            "content": {JSON: {**content, **({"example": example} if example else {})}},
        }
    described["responses"] = _responses(operation, None if answer is NoneType else answer.__name__)
    return described


def _webhook(kind: EventType) -> Schema:
    """Return what is posted to a receiver: a CloudEvent, signed as Standard Webhooks says."""
    data = events.DATA[kind]
    event: Schema = {
        "specversion": {"const": "1.0"},
        "id": {
            "type": "string",
            "pattern": events.EVENT_ID_PATTERN,
            "description": "The same each time the event comes: drop what you have seen.",
        },
        "source": {"type": "string", "format": "uri", "description": "The API."},
        "type": {"const": kind.value},
        "subject": {"type": "string", "minLength": 1},
        "time": {"type": "string", "format": "date-time"},
        "datacontenttype": {"const": "application/json"},
        "data": _ref(data.__name__),
    }
    form = _object(event)
    if data in events.OF_PACKETS:
        form["properties"]["sequence"] = _SEQUENCE
        form["required"].append("sequence")
    headers = [
        {
            "name": name,
            "in": "header",
            "required": True,
            "description": meaning,
            "schema": {"type": "string"},
        }
        for name, meaning in _SIGNED.items()
    ]
    return {
        "post": {
            "operationId": "told" + "".join(word.capitalize() for word in kind.split(".")[1:]),
            "summary": data.__doc__,
            "security": [],
            "parameters": headers,
            "requestBody": {
                "required": True,
                "content": {"application/cloudevents+json": {"schema": form}},
            },
            "responses": {
                "2XX": {"description": "Taken. Anything else is tried again, for a day."},
            },
        }
    }


_SEQUENCE: Schema = {
    "type": "string",
    "pattern": "^[0-9]{8}$",
    "description": "The event's place in the packet's life. Events come in any order.",
}
_SIGNED = {
    "webhook-id": "The event's `id`.",
    "webhook-timestamp": "In seconds since 1970; refuse what is five minutes off.",
    "webhook-signature": "`v1,` and a base64 HMAC-SHA256; two for a day after a new secret.",
}


def _parameter(parameter: Parameter[Any]) -> Schema:
    described: Schema = {
        "name": parameter.name,
        "in": "header" if parameter.place == "headers" else parameter.place,
        "description": " ".join(parameter.meaning.split()),
        "schema": dict(parameter.form),
    }
    return {**described, "required": True} if parameter.is_required else described


def _responses(operation: Operation, answer: str | None) -> Schema:
    content = {"content": {JSON: {"schema": _ref(answer)}}} if answer else {}
    answers: dict[int, Schema] = {
        status: {
            "description": HTTPStatus(status).phrase,
            **content,
            "headers": _cache_headers(operation),
        }
        for status in operation.statuses
    }
    if waits(operation):
        answers[202]["content"] = {JSON: {"schema": _ref("AwaitingApproval")}}
    if operation.csv:
        answers[200]["content"] = {**answers[200]["content"], CSV: {"schema": _CSV_PAGE}}
        answers[200]["headers"] = {**answers[200]["headers"], "X-Next-Cursor": _NEXT_CURSOR}
    if operation.caching:
        unchanged = "The client has this very page already."
        answers[304] = {"description": unchanged, "headers": _cache_headers(operation)}
    codes = codes_of(operation)
    for status in {STATUS_BY_CODE[code] for code in codes}:
        here = [code for code, its in STATUS_BY_CODE.items() if its == status and code in codes]
        answers[status] = _problem_answer(here)
    for status, description in _gateway_answers(operation).items():
        refused = answers.setdefault(status, {"description": "", "content": {}})
        refused["description"] = " ".join(filter(None, (refused["description"], description)))
        refused["content"][JSON] = {"schema": _ref("GatewayMessage")}
        # The gateway's own answer has no header of ours.
        for header in refused.get("headers", {}).values():
            header["required"] = False
    return {str(status): answers[status] for status in sorted(answers)}


def _problem_answer(codes: list[str]) -> Schema:
    forms = [_ref(problem_name(code)) for code in codes]
    described: Schema = {
        "description": f"{', '.join(f'`{code}`' for code in codes)}.",
        "content": {PROBLEM_JSON: {"schema": forms[0] if len(forms) == 1 else {"oneOf": forms}}},
    }
    if RETRIED.intersection(codes):
        described["headers"] = {
            "Retry-After": {
                "description": "Seconds; then asking again gives the one true answer.",
                "required": RETRIED.issuperset(codes),
                "schema": {"type": "integer", "minimum": 1},
            }
        }
    return described


def _gateway_answers(operation: Operation) -> dict[int, str]:
    answers = dict(_GATEWAY_ANSWERS)
    if operation.is_public:
        del answers[HTTPStatus.UNAUTHORIZED]
    if operation.scopes:
        answers[HTTPStatus.FORBIDDEN] = "A token without the scope."
    if not any(parameter.place == "path" for parameter in operation.parameters):
        del answers[HTTPStatus.NOT_FOUND]
    return {status.value: description for status, description in answers.items()}


def _cache_headers(operation: Operation) -> Schema:
    traced = {
        "X-Request-Id": {
            "description": "The request's id, for the operator.",
            "required": True,
            "schema": {"type": "string"},
        }
    }
    if not operation.caching:
        return {"Cache-Control": {"required": True, "schema": {"const": NO_STORE}}, **traced}
    return {
        **traced,
        "ETag": {"required": True, "schema": {"type": "string", "pattern": '^"[0-9a-f]{32}"$'}},
        "Cache-Control": {"required": True, "schema": {"enum": list(operation.caching)}},
    }


def main() -> None:
    """Write the file."""
    OPENAPI.write_text(text(), encoding="utf-8")
    print(f"Wrote {OPENAPI.name}: {len(operations())} routes")


if __name__ == "__main__":
    main()
