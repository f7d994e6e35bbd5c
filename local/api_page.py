"""Writes docs/api.md, the readable form of openapi.json: its routes by topic, with examples.

`make openapi` runs it after openapi.json is written; tests/unit/test_api_page.py holds the page to
the contract. What each problem means is the first line of its error's docstring.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from local import openapi, places
from redpacket.domain import errors
from redpacket.edge.api import BODY_BYTES_MAX
from redpacket.edge.parameters import KEY_LENGTH_MAX
from redpacket.edge.problems import RETRIED, STATUS_BY_CODE

PAGE = places.ROOT / "docs" / "api.md"

Schema = dict[str, Any]

_PATH_EXAMPLES = {
    "packet_id": "$PACKET",
    "campaign_id": "new-year",
    "prize_id": "cash-888",
    "name": "payout",
    "payment_id": "$PAYMENT",
    "withdrawal_id": "$WITHDRAWAL",
}

_INTRODUCTION = """\
# HTTP API

Written by `make openapi` from [openapi.json](../openapi.json), which is generated from the code.
[guide.md](guide.md) explains packets, campaigns and lotteries; this page lists the routes.

## Conventions

- **Identity.** Send `Authorization: Bearer <JWT>`. The user is the token's `sub`, of which
  `user_token` is a keyed hash. Routes below
  `/admin/` need one of the scopes that their row names. Without a valid token the gateway answers
  401 with a body of its own, and so for an operators' route without a scope (403). `POST
  /dev/tokens` makes tokens on the local stack only.
- **Caches.** Answers are `Cache-Control: no-store`, except record pages (`private, no-cache`) and
  the feed.
- **Values.** Money is in fen and time in milliseconds since 1970, both as integers. A boolean, a
  float or a string in place of an integer is 422, and so is a field that the contract doesn't name.
  Bodies are at most {body_bytes_max:,} bytes.
- **Text** is stored in Unicode's NFC form, without control, bidi, zero-width, blank, private or
  unassigned characters. Its length counts characters as people see them (graphemes).
- **Idempotency.** Routes that list the header `Idempotency-Key` require it: 1 to {key_length_max}
  characters of your choice. A repeat with the same key and body has no second effect and gets the
  same answer; another body is 422 `idempotency_key_reused`.
- **Problems** are `application/problem+json` (RFC 9457). Switch on `code`; show `detail` to people.
  {retried} carry `Retry-After`: they pass by themselves, so send the same request again. A 500 does
  not pass by itself. The gateway's own throttle answers 429 with a body of its own.
- **Pages.** Pass `next` of one page as `cursor` of the following one; `next` is null on the last.
- Every route may also answer {everywhere}.
"""


def page() -> str:
    """Return the whole page."""
    document = openapi.document()
    retried = ", ".join(f"{STATUS_BY_CODE[code]} `{code}`" for code in sorted(RETRIED))
    everywhere = ", ".join(f"{STATUS_BY_CODE[code]} `{code}`" for code in openapi.EVERYWHERE)
    introduction = _INTRODUCTION.format(
        body_bytes_max=BODY_BYTES_MAX,
        key_length_max=KEY_LENGTH_MAX,
        retried=retried,
        everywhere=everywhere,
    )
    operations = _operations(document)
    parts = [introduction, "## Routes\n", *_overview(document, operations)]
    for tag in document["tags"]:
        parts += [f"\n## {tag['name']}\n\n{tag['description']}\n"]
        parts += [
            "\n".join(_route(document, key, found))
            for key, found in operations.items()
            if found["tags"] == [tag["name"]]
        ]
    parts += _forms(document), _problems()
    return "\n".join(parts)


def _operations(document: Schema) -> dict[str, Schema]:
    return {
        f"{method.upper()} {path}": found
        for path, methods in document["paths"].items()
        for method, found in methods.items()
    }


def _overview(document: Schema, operations: dict[str, Schema]) -> Iterator[str]:
    yield "| Route | Does |\n|---|---|"
    for tag in document["tags"]:
        for key, found in operations.items():
            if found["tags"] == [tag["name"]]:
                yield f"| [`{key}`](#{found['operationId'].lower()}) | {found['summary']} |"


def _route(document: Schema, key: str, operation: Schema) -> Iterator[str]:
    yield f"### {operation['operationId']}\n"
    yield f"`{key}`{_who(operation)}\n"
    yield f"{operation['summary']}\n"
    if rows := [_row(*row) for row in _fields(document, operation)]:
        yield "| Field | In | Form | Default | Meaning |\n|---|---|---|---|---|"
        yield from rows
        yield ""
    yield f"```sh\n{_command(key, operation)}\n```\n"
    status, answer = _success(operation)
    if answer:
        yield f"Answers {status}, [`{answer}`](#{answer.lower()}-form):\n"
        yield f"```json\n{_example_answer(document, answer)}\n```\n"
    else:
        yield f"Answers {status} without a body.\n"
    yield f"Refusals: {_refusals(operation)}.\n"


def _who(operation: Schema) -> str:
    security = operation.get("security")
    if security == []:
        return ", without a token"
    if security:
        scopes = [each["user"][0] for each in security]
        return ", scope " + " or ".join(f"`{scope}`" for scope in scopes)
    return ""


def _fields(document: Schema, operation: Schema) -> Iterator[tuple[str, str, Schema, bool]]:
    for found in operation.get("parameters", []):
        form = {**found["schema"], "description": found.get("description", "")}
        yield found["name"], found["in"], form, found.get("required", False)
    if body := operation.get("requestBody"):
        schema = _resolve(document, body["content"][openapi.JSON]["schema"])
        for name, form in schema["properties"].items():
            yield name, "body", form, name in schema.get("required", [])


def _row(name: str, where: str, form: Schema, is_required: bool) -> str:  # noqa: FBT001 - of a table
    default = "required" if is_required else _default(form)
    return f"| `{name}` | {where} | {_form(form)} | {default} | {form.get('description', '')} |"


def _default(form: Schema) -> str:
    default = form.get("default")
    if default is None or default in ("", {}):
        return ""
    if isinstance(default, dict):
        return "as below"
    return f"`{json.dumps(default, ensure_ascii=False)}`"


def _form(form: Schema) -> str:
    """Return a schema in a few words."""
    return next((show(form) for keyword, show in _SHOWN.items() if keyword in form), "any")


def _link(form: Schema) -> str:
    name = form["$ref"].rpartition("/")[2]
    return f"[`{name}`](#{name.lower()}-form)"


def _choices(form: Schema) -> str:
    return " or ".join(_form(one) for one in form["anyOf"] if one != {"type": "null"})


def _typed(form: Schema) -> str:
    kind = form["type"]
    if kind == "array":
        most = f", at most {form['maxItems']:,}" if "maxItems" in form else ""
        return f"list of {_form(form['items'])}{most}"
    if kind == "integer":
        return f"integer{_bounds(form.get('minimum'), form.get('maximum'))}"
    return " or ".join(kind) if isinstance(kind, list) else str(kind)


def _bounds(low: int | None, high: int | None) -> str:
    if low is None:
        return ""
    return f", at least {low:,}" if high is None else f", {low:,} to {high:,}"


_SHOWN = {
    "$ref": _link,
    "anyOf": _choices,
    "const": lambda form: f"`{json.dumps(form['const'])}`",
    "enum": lambda form: ", ".join(f"`{word}`" for word in form["enum"]),
    "type": _typed,
}


def _command(key: str, operation: Schema) -> str:
    method, path = key.split()
    for name, example in _PATH_EXAMPLES.items():
        path = path.replace(f"{{{name}}}", example)
    parts = ["curl -s"] + ([] if method == "GET" else [f"-X {method}"]) + [f'"$API{path}"']
    if operation.get("security") != []:
        parts += ['-H "Authorization: Bearer $TOKEN"']
    if any(found["name"] == "Idempotency-Key" for found in operation.get("parameters", [])):
        parts += ["-H 'Idempotency-Key: new-year-1'"]
    content = operation.get("requestBody", {}).get("content", {}).get(openapi.JSON, {})
    if "example" in content:
        body = json.dumps(content["example"], ensure_ascii=False)
        parts += [f"-d '{body}'"]
        return " \\\n  ".join([" ".join(parts[:-1]), parts[-1]])
    return " ".join(parts)


def _success(operation: Schema) -> tuple[str, str | None]:
    """Return the statuses of success, and the form of their body; None where they have none."""
    statuses = [status for status in operation["responses"] if status.startswith("2")]
    content = operation["responses"][statuses[0]].get("content", {})
    answer = content[openapi.JSON]["schema"]["$ref"].rpartition("/")[2] if content else None
    return " or ".join(statuses), answer


def _refusals(operation: Schema) -> str:
    refusals = [
        f"{status} `{code}`"
        for status, answer in operation["responses"].items()
        for code in re.findall(r"`([a-z_]+)`", answer["description"])
        if code not in openapi.EVERYWHERE
    ]
    return ", ".join(refusals) or "none of its own"


def _resolve(document: Schema, form: Schema) -> Schema:
    if "$ref" not in form:
        return form
    _, _, kind, name = form["$ref"].split("/")
    found: Schema = document["components"][kind][name]
    return found


def _example_answer(document: Schema, name: str) -> str:
    form = {"$ref": f"#/components/schemas/{name}"}
    return json.dumps(example_of(document, form), ensure_ascii=False, indent=2)


def example_of(document: Schema, form: Schema) -> Any:  # noqa: ANN401 - any JSON
    """Return a value of *form*: the example that it has, or one made by its type."""
    if "examples" in form:
        return form["examples"][0]
    form = _resolve(document, form)
    if "const" in form:
        return form["const"]
    if "enum" in form:
        return form["enum"][0]
    if choices := form.get("oneOf") or form.get("anyOf"):
        return example_of(document, choices[0])
    return _example_by_type(document, form)


def _example_by_type(document: Schema, form: Schema) -> Any:  # noqa: ANN401 - any JSON
    kind = form["type"][0] if isinstance(form["type"], list) else form["type"]
    if kind == "object":
        return {
            field: example_of(document, found)
            for field, found in form.get("properties", {}).items()
        }
    if kind == "array":
        return [example_of(document, form["items"])]
    return {"integer": form.get("minimum", 0), "boolean": False, "string": "text"}[kind]


def _forms(document: Schema) -> str:
    lines = ["\n## Forms\n"]
    for name in openapi.forms():
        schema = document["components"]["schemas"][name]
        lines += [f"### {name} form\n"]
        if "description" in schema:
            lines += [f"{schema['description']}\n"]
        if "oneOf" in schema:
            lines += [f"{' or '.join(_form(one) for one in schema['oneOf'])}.\n"]
            continue
        lines += ["| Field | Form | Meaning |\n|---|---|---|"]
        for field, form in schema["properties"].items():
            null = " or null" if {"type": "null"} in form.get("anyOf", []) else ""
            meaning = form.get("description", "")
            lines += [f"| `{field}` | {_form(form)}{null} | {meaning} |"]
        lines += [""]
    return "\n".join(lines)


def _problems() -> str:
    meanings = {
        error.code: (error.__doc__ or "").partition("\n")[0]
        for error in vars(errors).values()
        if isinstance(error, type)
        and issubclass(error, errors.RedPacketError)
        and "code" in vars(error)
    }
    lines = ["## Problems\n", "| Status | Code | Means |\n|---|---|---|"]
    lines += [
        f"| {status} | `{code}` | {meanings[code]} |" for code, status in STATUS_BY_CODE.items()
    ]
    return "\n".join([*lines, ""])


def main() -> None:
    """Write the page."""
    PAGE.write_text(page(), encoding="utf-8")
    print(f"Wrote docs/{PAGE.name}")


if __name__ == "__main__":
    main()
