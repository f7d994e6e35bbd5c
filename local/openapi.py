"""Writer of openapi.json, the HTTP contract that the handlers declare.

A handler declares an operation with `@handler.route(...)`. The `api/` folder of its context
declares the request and response bodies, and the error classes declare the problems. `make openapi`
writes the file, and tests/unit/platform/test_openapi.py compares it with the code.
"""

import importlib.util
import inspect
import json
import re
from collections import ChainMap, Counter
from functools import cache
from http import HTTPStatus
from types import NoneType
from typing import Annotated, Any, TypeAlias, get_args, get_origin, get_type_hints

from pydantic import TypeAdapter
from pydantic.json_schema import GenerateJsonSchema

import redpacket
from local import places
from redpacket.approvals.api import answers as approvals
from redpacket.approvals.api import list_answers as lists
from redpacket.chat.api import answers as chats
from redpacket.events.api import answers as webhooks
from redpacket.events.api import event_answers as events
from redpacket.events.model.events import EventType
from redpacket.fairness.api import answers as log
from redpacket.fairness.api import log_pages
from redpacket.ledger.provider_name import ProviderName
from redpacket.lottery.api import answers as campaigns
from redpacket.lottery.api import draw_schemas as draws
from redpacket.operations.api import answers as operators
from redpacket.packets.api import answer_fields as packet_fields
from redpacket.packets.api import answers as packets
from redpacket.packets.api import claim_schemas as claims
from redpacket.packets.api import link_preview, pages, rains
from redpacket.packets.api import send_schemas as sending
from redpacket.payments.api import answers as payments
from redpacket.platform.errors import Forbidden, InvalidRequest, RedPacketError
from redpacket.platform.http import answer_fields
from redpacket.platform.http.api import BODY_BYTES_MAX, NO_STORE, UBIQUITOUS, Api, Operation
from redpacket.platform.http.csv_pages import CSV
from redpacket.platform.http.parameters import Parameter
from redpacket.platform.http.request_fields import GREETING_GRAPHEMES_MAX
from redpacket.platform.text import CODE_POINTS_PER_GRAPHEME_MAX, NICKNAME_GRAPHEMES_MAX
from redpacket.reconciliation.api import answers as reconciliation

Schema: TypeAlias = dict[str, Any]

OPENAPI = places.ROOT / "openapi.json"
VERSIONS = {"web/package.json": 1, "web/package-lock.json": 2, "web/element/package.json": 1}
"""Files under web/ that contain the version, and how often it occurs near their beginning."""

JSON = "application/json"
_UNSTRUCTURED: dict[Any, tuple[str, str]] = {
    str: ("text/html", link_preview.CACHING),
    bytes: (log_pages.TILE, log_pages.PROOF_CACHING[1]),
    packets.PictureFile: ("image/*", pages.PICTURE_CACHING),
    log.Checkpoint: (log_pages.NOTE, log_pages.LOG_CACHING[0]),
}
"""Media type and cache policy of non-JSON responses."""

PROBLEM_JSON = "application/problem+json"
COLUMNS_MAX = 120
"""A value that takes fewer columns than this is written on a single line."""
_REF = "#/components/schemas/{model}"
_VALUE_LENGTH_MIN = 80
"""Shared value schemas of responses with more characters of JSON become components."""

_ANSWERS = (
    answer_fields,
    packet_fields,
    payments,
    campaigns,
    packets,
    lists,
    log,
    webhooks,
    approvals,
    events,
    operators,
    reconciliation,
    chats,
    *(channel.module("answers") for channel in ProviderName),
)

TAGS = {
    "Packets": "Send packets, claim shares, and read the results.",
    "Me": "The caller's own data: profile, balance, lists and transfers.",
    "Campaigns": "A campaign's lottery: draws, help from friends, and proofs.",
    "Payments": "Payments and withdrawals through a payment provider, such as the host's wallet.",
    "Log": "Commitments of packets and campaigns, in a public signed log.",
    "Operators": "Deposits, campaigns, prizes, switches and checks.",
    "Service": "The service itself.",
}
_PAYMENT_PATHS = (
    *("/me/payments", "/me/withdrawals", "/auth/", "/gateway/"),
    *(f"/me/{provider}" for provider in ProviderName),
)
_TAG_BY_PATH = {
    "packets": "Packets",
    "me": "Me",
    "pictures": "Packets",
    "campaigns": "Campaigns",
    "admin": "Operators",
    "transparency": "Log",
    "health": "Service",
    "chat": "Service",
    **{str(provider): "Service" for provider in ProviderName},
}
_HANDLERS = [
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
"""Handlers whose operations come first, in this order."""

_GATEWAY_ANSWERS = {
    HTTPStatus.UNAUTHORIZED: "The token is missing, invalid or expired.",
    HTTPStatus.NOT_FOUND: "A path parameter is empty or contains a slash.",
    HTTPStatus.TOO_MANY_REQUESTS: "The requests exceed the stage's throttle.",
}
_COMMON: Schema = {
    "GatewayMessage": {
        "type": "object",
        "description": "Response from API Gateway itself, whose format the API cannot choose.",
        "properties": {"message": {"type": ["string", "null"]}},
        "required": ["message"],
        "additionalProperties": False,
    },
    "RequestId": {
        "type": "string",
        "minLength": 1,
        "description": "The request's id, for the operator.",
    },
    "CloudEventId": {
        "type": "string",
        "pattern": events.EVENT_ID_PATTERN,
        "description": "Identical in each delivery of an event; ignore repeats.",
    },
    "CloudEventSource": {"type": "string", "format": "uri", "description": "The API."},
    "CloudEventSequence": {
        "type": "string",
        "pattern": "^[0-9]{8}$",
        "description": "The event's position in the packet's life. Events arrive in any order.",
    },
}

_DESCRIPTION = f"""\
Money and time (milliseconds) are integers: `1.0` is rejected. `_fen` means minor units of the
deployment's unit of account, which `GET /health` names. Bodies are at most {BODY_BYTES_MAX}
bytes. Clients switch on a problem's `code`.

Text in the format `visible-text` has no control, bidi, zero-width, blank, private or unassigned
character, except joiners, selectors and tags that an emoji or the script needs. A refusal names
the character. Lengths count graphemes: a greeting has at most {GREETING_GRAPHEMES_MAX}, a nickname
{NICKNAME_GRAPHEMES_MAX}. `maxLength` counts code points, and is {CODE_POINTS_PER_GRAPHEME_MAX}
times the limit in graphemes. The kind `equal` requires the split `equal`, and the kind `lucky`
another split.

A deployment may have lower maximums for `count` and `share_fen_max` than those listed here.
"""

# ---------------------------------------------------------------- declarations of handlers


@cache
def operations() -> dict[str, Operation]:
    """Load all handlers by path, as Lambda does; return their operations, keyed by route."""
    collected: dict[str, Operation] = {}
    files = {file.parent.name: file for file in (places.ROOT / "functions").glob("*/app.py")}
    for handler in sorted(files, key=lambda name: (*_HANDLERS, name).index(name)):
        spec = importlib.util.spec_from_file_location(f"handler_{handler}", files[handler])
        assert spec
        assert spec.loader
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        if isinstance(module.handler, Api):
            collected |= module.handler.operations
    return collected


def types_of(operation: Operation) -> tuple[Any, Any]:
    """Return the type of the request body, or None, and the type of the response."""
    names = dict(ChainMap(*map(dict, map(vars, (sending, rains, claims, draws, *_ANSWERS)))))
    hints = get_type_hints(operation.function, localns=names)
    (answer,) = get_args(hints["return"])
    body = next(iter(get_args(hints["request"])), None)
    return body, get_args(answer)[0] if _waits(answer) else answer


def waits(operation: Operation) -> bool:
    """Return whether an operation may wait for another operator's approval."""
    return "AwaitingApproval" in str(operation.function.__annotations__["return"])


def _waits(answer: Any) -> bool:  # noqa: ANN401 - any type of an answer
    return approvals.AwaitingApproval in get_args(answer)


def _tag_of(path: str) -> str:
    return "Payments" if path.startswith(_PAYMENT_PATHS) else _TAG_BY_PATH[path.split("/")[1]]


@cache
def errors_by_code() -> dict[str, type[RedPacketError]]:
    """Return the class that defines each problem code, sorted by status."""
    operations()  # Import every handler and thus every error.
    by_code = {error.code: error for error in _concrete(RedPacketError) if "code" in vars(error)}
    return dict(sorted(by_code.items(), key=lambda each: (each[1].status, each[0])))


def codes_of(operation: Operation) -> set[str]:
    """Return the codes of the problems that an operation may return."""
    return {error.code for error in _errors_of(operation)}


def _errors_of(operation: Operation) -> set[type[RedPacketError]]:
    """Return an operation's declared errors, with the members of groups, and the common errors."""
    shared: set[type[RedPacketError]] = {
        error for error in UBIQUITOUS if not (operation.is_public and error is Forbidden)
    }
    if types_of(operation)[0] or any(
        parameter.place == "query" for parameter in operation.parameters
    ):
        shared.add(InvalidRequest)
    grouped = {member for error in operation.refusals for member in _members(error)}
    return grouped | shared


def _members(error: type[RedPacketError]) -> list[type[RedPacketError]]:
    """Return the error itself, or the members of a group, which is a base class without a code."""
    return [error] if hasattr(error, "code") else _concrete(error)


def _concrete(base: type[RedPacketError]) -> list[type[RedPacketError]]:
    """Return all subclasses in the product that have a code."""
    ours = [kind for kind in base.__subclasses__() if kind.__module__.startswith("redpacket.")]
    below = [member for kind in ours for member in (kind, *_concrete(kind))]
    return [kind for kind in below if hasattr(kind, "code")]


# ---------------------------------------------------------------- forms


class _Generator(GenerateJsonSchema):
    """Schema generator that makes responses strict, and omits titles that repeat a field name."""

    def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ANN401, ARG002 - pydantic's form
        return False

    def typed_dict_schema(self, schema: Any) -> Schema:  # noqa: ANN401 - pydantic's form
        return {**super().typed_dict_schema(schema), "additionalProperties": False}

    def sort(self, value: Any, parent_key: str | None = None) -> Any:  # noqa: ANN401, ARG002 - see above
        """Keep the declared order of fields."""
        return value


@cache
def _forms() -> Schema:
    named = {kind for operation in operations().values() for kind in types_of(operation)}
    for channel in ProviderName:
        for answer, field in channel.module("answers").FIELDS.items():
            _add_field(answer, channel, field)
    named |= {*events.DATA.values(), approvals.AwaitingApproval}
    structured = named - {None, NoneType, *_UNSTRUCTURED}
    _, generated = TypeAdapter.json_schemas(
        [(kind.__name__, "validation", TypeAdapter(kind)) for kind in structured],
        ref_template=_REF,
        schema_generator=_Generator,
    )
    forms: Schema = generated["$defs"]
    for form in forms.values():
        form.pop("title", None)
    words = {name: form for name, form in forms.items() if "enum" in form}
    return {
        name: _with_words(form, words) for name, form in sorted(forms.items()) if name not in words
    }


def _add_field(answer: type, name: str, kind: object) -> None:
    """Add a provider's field to a response type."""
    answer.__annotations__[name] = kind
    answer.__required_keys__ |= {name}  # type: ignore[attr-defined]


def _with_words(form: Any, words: Schema) -> Any:  # noqa: ANN401 - any JSON schema
    """Inline enumerations, without their docstrings, which are for developers."""
    if isinstance(form, list):
        return [_with_words(part, words) for part in form]
    if not isinstance(form, dict):
        return form
    named = words.get(str(form.get("$ref")).rpartition("/")[2])
    if named:
        form = {**form, "type": "string", "enum": named["enum"]}
        del form["$ref"]
    return {key: _with_words(part, words) for key, part in form.items()}


def _shared(schemas: Schema) -> Schema:
    """Return the schemas; longer values in responses become components."""
    named: Schema = {}
    for module in _ANSWERS:
        for name, kind in vars(module).items():
            if get_origin(kind) is Annotated:
                form = TypeAdapter(kind).json_schema(schema_generator=_Generator, ref_template=_REF)
                words = {
                    word: schema
                    for word, schema in form.pop("$defs", {}).items()
                    if "enum" in schema
                }
                named.setdefault(name, _with_words(form, words))
    longer = {name: form for name, form in named.items() if len(_key(form)) > _VALUE_LENGTH_MIN}
    forms: Schema = _with_references(schemas, {_key(form): name for name, form in longer.items()})
    used = set(re.findall(_REF.format(model=r"(\w+)"), json.dumps(forms)))
    return {**forms, **{name: form for name, form in longer.items() if name in used}}


def _with_references(form: Any, names: dict[str, str]) -> Any:  # noqa: ANN401 - any JSON schema
    if isinstance(form, list):
        return [_with_references(part, names) for part in form]
    if not isinstance(form, dict):
        return form
    name = names.get(_key(form))
    return _ref(name) if name else {k: _with_references(part, names) for k, part in form.items()}


def _key(form: Schema) -> str:
    return json.dumps(form, sort_keys=True)


def problem_name(code: str) -> str:
    """Return a problem's schema name, such as PacketNotFoundProblem for packet_not_found."""
    return _camel(code) + "Problem"


def _camel(name: str) -> str:
    return "".join(word.capitalize() for word in re.split("[-_]", name))


def _problem(error: type[RedPacketError]) -> Schema:
    code, word = error.code, {"type": "string", "minLength": 1}
    properties: Schema = {
        "type": {"const": f"/problems/{code.replace('_', '-')}"},
        "title": {"const": error.title},
        "status": {"const": error.status},
        "detail": {"type": "string"},
        "code": {"const": code},
        "instance": _ref("RequestId"),
    }
    if code == "invalid_request":
        field = _object({"field": word, "message": word})
        properties["errors"] = {"type": "array", "items": field, "minItems": 1}
    state = {"x-page-state": error.page_state} if error.page_state else {}
    return {"description": error.text(), **_object(properties), **state}


def _object(properties: Schema) -> Schema:
    fixed = {"required": list(properties), "additionalProperties": False}
    return {"type": "object", "properties": properties, **fixed}


def _ref(name: str) -> Schema:
    return {"$ref": _REF.format(model=name)}


# ---------------------------------------------------------------- the document


def document() -> Schema:
    """Return the whole contract."""
    paths: Schema = {}
    forms = {name: dict(form) for name, form in _forms().items()}
    responses: Schema = {}
    for key, operation in operations().items():
        method, path = key.replace("+}", "}").split()
        paths.setdefault(path, {})[method.lower()] = _operation(operation, forms, responses)
    for form in forms.values():
        # A whole body's example belongs to the request (see `_operation`), not to the schema.
        form.pop("example", None)
    problems = {problem_name(code): _problem(error) for code, error in errors_by_code().items()}
    webhooks = {kind.value: _webhook(kind) for kind in events.DATA}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "redpacket",
            "version": redpacket.__version__,
            "summary": "Red packets (红包) whose every share has one durable outcome.",
            "description": _DESCRIPTION,
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": "/"}],
        "security": [{"user": []}],
        "tags": [{"name": name, "description": text} for name, text in TAGS.items()],
        "paths": paths,
        "webhooks": webhooks,
        "components": {
            "schemas": {**_shared(forms), **_COMMON, **problems},
            "parameters": {**_share_parameters(paths), **_SIGNED},
            "responses": dict(sorted(responses.items())),
            "headers": _HEADERS,
            "securitySchemes": {
                "user": {"type": "http", "scheme": "bearer", "bearerFormat": "JWT"}
            },
        },
    }


def _share_parameters(paths: Schema) -> Schema:
    """Make each parameter of several operations a reference; return the components."""
    lists = [
        operation["parameters"]
        for operations in paths.values()
        for operation in operations.values()
        if "parameters" in operation
    ]
    uses = Counter(json.dumps(each) for parameters in lists for each in parameters)
    names: dict[str, str] = {}
    for text in (text for text, count in uses.items() if count > 1):
        word = _camel(json.loads(text)["name"])
        same = sum(name.rstrip("23456789") == word for name in names.values())
        names[text] = f"{word}{same + 1}" if same else word
    for parameters in lists:
        parameters[:] = [
            {"$ref": f"#/components/parameters/{names[text]}"}
            if text in names
            else json.loads(text)
            for text in map(json.dumps, parameters)
        ]
    return {name: json.loads(text) for text, name in names.items()}


_CSV_PAGE: Schema = {
    "type": "string",
    "description": "The items as CSV, for clients that accept `text/csv` before JSON. Text that "
    "a spreadsheet would read as a formula begins with an apostrophe; ids are unchanged.",
}
_RETRY_AFTER: Schema = {
    "description": "Seconds to wait before a retry, which returns the correct result.",
    "required": True,
    "schema": {"type": "integer", "minimum": 1},
}
_HEADERS: Schema = {
    "NoStore": {"required": True, "schema": {"const": NO_STORE}},
    "RequestId": {
        "description": "The request's id, for the operator.",
        "required": True,
        "schema": {"type": "string"},
    },
    "NowMs": {
        "description": "Time of the response by the API's clock; a cached response keeps it.",
        "required": True,
        "schema": {"type": "string", "pattern": "^[0-9]{13}$"},
    },
    "EntityTag": {"required": True, "schema": {"type": "string", "pattern": '^"[0-9a-f]{32}"$'}},
    "NextCursor": {
        "description": "For CSV only: the value of `next`; missing on the last page.",
        "schema": {"type": "string"},
    },
    "RetryAfter": _RETRY_AFTER,
    "OptionalRetryAfter": {**_RETRY_AFTER, "required": False},
}


def text() -> str:
    """Return the text of openapi.json."""
    return _written(document()) + "\n"


def _written(value: Any, indent: str = "", key: str = "") -> str:  # noqa: ANN401 - any JSON
    """Return *value* as JSON: on one line if it fits, otherwise with objects on separate lines."""
    line = key + json.dumps(value, ensure_ascii=False)
    if not isinstance(value, dict | list) or len(indent) + len(line) < COLUMNS_MAX:
        return line
    if isinstance(value, dict) and len(value) == 1:
        ((name, part),) = value.items()
        return _written(part, indent, f"{key}{{{json.dumps(name)}: ") + "}"
    inner = indent + "  "
    named = value.items() if isinstance(value, dict) else (("", part) for part in value)
    lines: list[str] = []
    is_open = False
    for name, part in named:
        text = _written(part, inner, f"{json.dumps(name)}: " if name else "")
        is_short = not isinstance(part, dict) and "\n" not in text
        fits = is_open and is_short and len(inner) + len(lines[-1]) + len(text) < COLUMNS_MAX - 2
        if fits:
            lines[-1] += f", {text}"
        else:
            lines.append(text)
        is_open = is_short
    opening, closing = "{}" if isinstance(value, dict) else "[]"
    inside = f",\n{inner}".join(lines)
    return f"{key}{opening}\n{inner}{inside}\n{indent}{closing}"


def _operation(operation: Operation, forms: Schema, responses: Schema) -> Schema:
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
        # Any of these scopes suffices.
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
        # Tools expect a whole body's example in the request.
        example = forms[body.__name__].get("example")
        described["requestBody"] = {
            "required": "required" in forms[body.__name__],
            "content": {JSON: {**content, **({"example": example} if example else {})}},
        }
    described["responses"] = _responses(operation, answer, responses)
    return described


def _webhook(kind: EventType) -> Schema:
    """Return the request to webhook receivers: a CloudEvent with a Standard Webhooks signature."""
    data = events.DATA[kind]
    event: Schema = {
        "specversion": {"const": "1.0"},
        "id": _ref("CloudEventId"),
        "source": _ref("CloudEventSource"),
        "type": {"const": kind.value},
        "subject": {"type": "string", "minLength": 1},
        "time": {"type": "string", "format": "date-time"},
        "datacontenttype": {"const": "application/json"},
        "data": _ref(data.__name__),
    }
    form = _object(event)
    if data in events.OF_PACKETS:
        form["properties"]["sequence"] = _ref("CloudEventSequence")
        form["required"].append("sequence")
    return {
        "post": {
            "operationId": "told" + "".join(word.capitalize() for word in kind.split(".")[1:]),
            "summary": data.__doc__,
            "security": [],
            "parameters": [{"$ref": f"#/components/parameters/{name}"} for name in _SIGNED],
            "requestBody": {
                "required": True,
                "content": {"application/cloudevents+json": {"schema": form}},
            },
            "responses": {
                "2XX": {"description": "Accepted. Any other response is retried for a day."}
            },
        }
    }


_SIGNED: Schema = {
    _camel(name): {
        "name": name,
        "in": "header",
        "required": True,
        "description": meaning,
        "schema": {"type": "string"},
    }
    for name, meaning in {
        "webhook-id": "The event's `id`.",
        "webhook-timestamp": "Seconds since 1970; reject times more than five minutes off.",
        "webhook-signature": "`v1,` and a base64 HMAC-SHA256; two for a day after a rotation.",
    }.items()
}


def _parameter(parameter: Parameter[Any]) -> Schema:
    described: Schema = {
        "name": parameter.name,
        "in": "header" if parameter.place == "headers" else parameter.place,
        "description": " ".join(parameter.meaning.split()),
        "schema": dict(parameter.form),
    }
    return {**described, "required": True} if parameter.is_required else described


def _responses(operation: Operation, answer: Any, responses: Schema) -> Schema:  # noqa: ANN401 - any type
    content: Schema = {}
    headers = _headers_of(operation)
    if answer in _UNSTRUCTURED:
        media, value = _UNSTRUCTURED[answer]
        form = {} if media.startswith("text/") else {"format": "binary"}
        content = {"content": {media: {"schema": {"type": "string", **form}}}}
        caching = {"required": True, "schema": {"enum": [value]}}
        headers = {**headers, "Cache-Control": caching}
    elif answer is not NoneType:
        content = {"content": {JSON: {"schema": _ref(answer.__name__)}}}
    answers: dict[int, Schema] = {
        status: {"description": HTTPStatus(status).phrase, **content, "headers": headers}
        for status in operation.statuses
    }
    if waits(operation):
        answers[202]["content"] = {JSON: {"schema": _ref("AwaitingApproval")}}
    if operation.csv:
        answers[200]["content"] = {**answers[200]["content"], CSV: {"schema": _CSV_PAGE}}
        answers[200]["headers"] = {**headers, "X-Next-Cursor": _header("NextCursor")}
    if operation.caching:
        unchanged = "The client already has this page."
        answers[304] = {"description": unchanged, "headers": headers}
    refused: dict[int, list[type[RedPacketError]]] = {
        status: [] for status in _gateway_answers(operation)
    }
    order = list(errors_by_code())
    errors = sorted(_errors_of(operation), key=lambda each: (order.index(each.code), each.__name__))
    for error in errors:
        refused.setdefault(error.status, []).append(error)
    for status, here in refused.items():
        name, response = _refusal(status, here, _gateway_answers(operation).get(status))
        responses[name] = response
        answers[status] = {"$ref": f"#/components/responses/{name}"}
    return {str(status): answers[status] for status in sorted(answers)}


def _refusal(
    status: int, errors: list[type[RedPacketError]], gateways: str | None
) -> tuple[str, Schema]:
    """Return the name and schema of a response with one of *errors*, or from API Gateway."""
    codes = list(dict.fromkeys(error.code for error in errors))
    forms = [_ref(problem_name(code)) for code in codes]
    told = [f"{', '.join(f'`{code}`' for code in codes)}."] if codes else []
    content: Schema = {}
    if forms:
        content[PROBLEM_JSON] = {"schema": forms[0] if len(forms) == 1 else {"oneOf": forms}}
    if gateways:
        content[JSON] = {"schema": _ref("GatewayMessage")}
        told.append(gateways)
    described: Schema = {"description": " ".join(told), "content": content}
    are_retried = [error.retry_after_s is not None for error in errors]
    if any(are_retried):
        # Responses from API Gateway itself lack our headers.
        always = all(are_retried) and not gateways
        header = _header("RetryAfter" if always else "OptionalRetryAfter")
        described["headers"] = {"Retry-After": header}
    # Errors with the same code can differ in their headers.
    also = [error.__name__ for error in errors if error.__base__ in errors]
    words = [*map(_camel, codes), *also, *([f"Gateway{status}"] if gateways else [])]
    return "Or".join(words), described


def _gateway_answers(operation: Operation) -> dict[int, str]:
    answers = dict(_GATEWAY_ANSWERS)
    if operation.is_public:
        del answers[HTTPStatus.UNAUTHORIZED]
    if operation.scopes:
        answers[HTTPStatus.FORBIDDEN] = "The token lacks the scope."
    if not any(parameter.place == "path" for parameter in operation.parameters):
        del answers[HTTPStatus.NOT_FOUND]
    return {status.value: description for status, description in answers.items()}


def _headers_of(operation: Operation) -> Schema:
    ours = {"X-Now-Ms": _header("NowMs"), "X-Request-Id": _header("RequestId")}
    if not operation.caching:
        return {"Cache-Control": _header("NoStore"), **ours}
    return {
        **ours,
        "ETag": _header("EntityTag"),
        "Cache-Control": {"required": True, "schema": {"enum": list(operation.caching)}},
    }


def _header(name: str) -> Schema:
    return {"$ref": f"#/components/headers/{name}"}


def with_version(name: str) -> str:
    """Return the text of a file in VERSIONS with the current version of the code."""
    version = f'"version": "{redpacket.__version__}"'
    written = (places.ROOT / name).read_text(encoding="utf-8")
    return re.sub(r'"version": ".*?"', version, written, count=VERSIONS[name])


def main() -> None:
    """Write openapi.json, and write the version into the page's packages."""
    OPENAPI.write_text(text(), encoding="utf-8")
    for name in VERSIONS:
        (places.ROOT / name).write_text(with_version(name), encoding="utf-8")
    print(f"Wrote {OPENAPI.name}: {len(operations())} routes")


if __name__ == "__main__":
    main()
