"""Part of the AWS CLI that the documents use, over botocore's models of the services.

CI has no AWS CLI: PyPI has only version 1, which rejects options in these documents. An
operation or a parameter that AWS lacks also fails here.
"""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import boto3
import jmespath  # type: ignore[import-untyped]
from botocore import xform_name

_FLAGS = {"--query", "--output", "--cli-binary-format", "--max-items"}
"""Options of the command itself; each has a value."""


def main() -> None:
    """Call an operation, and print its answer, or exit with the error that AWS returned."""
    service, operation, *words = sys.argv[1:]
    options, own, file = _parsed(words)
    connect: Any = boto3.client  # The stubs have one type per service.
    client = connect(service)
    model = client.meta.service_model
    names = {xform_name(name, "-"): name for name in model.operation_names}
    if operation not in names:
        sys.exit(f"aws: {service} has no operation {operation}")
    shape = model.operation_model(names[operation]).input_shape
    members = {xform_name(name, "-"): (name, each) for name, each in shape.members.items()}
    if unknown := [name for name in options if name not in members]:
        sys.exit(f"aws: {operation} has no parameter {unknown[0]}")
    request = {members[name][0]: _value(members[name][1], given) for name, given in options.items()}
    method = xform_name(names[operation])
    if "--max-items" in own:
        pages = client.get_paginator(method).paginate(
            **request, PaginationConfig={"MaxItems": int(own["--max-items"])}
        )
        answer = pages.build_full_result()
    else:
        answer = getattr(client, method)(**request)
        answer.pop("ResponseMetadata", None)
    if file:
        Path(file).write_bytes(answer.pop("Payload").read())
    if "--query" in own:
        answer = jmespath.search(own["--query"], answer)
    text = own.get("--output") == "text"
    shown = _text(answer) if text else json.dumps(answer, indent=4, default=str, ensure_ascii=False)
    sys.stdout.write(f"{shown}\n")


def _parsed(words: list[str]) -> tuple[dict[str, list[str]], dict[str, str], str]:
    """Return the parameters, the options of the command itself, and the file for the answer."""
    options: dict[str, list[str]] = {}
    own: dict[str, str] = {}
    file, left = "", list(words)
    while left:
        word = left.pop(0)
        if word in _FLAGS:
            own[word] = left.pop(0)
        elif word.startswith("--"):
            given: list[str] = options.setdefault(word.removeprefix("--"), [])
            while left and not left[0].startswith("--"):
                given.append(left.pop(0))
        else:
            file = word
    return _without_file(options, own, file)


def _without_file(
    options: dict[str, list[str]], own: dict[str, str], file: str
) -> tuple[dict[str, list[str]], dict[str, str], str]:
    """Move the name of the output file, which `payload` collected as a second value, out of the
    options.
    """
    payload = options.get("payload", [])
    return options, own, payload.pop() if len(payload) > 1 else file


def _value(shape: Any, given: list[str]) -> Any:
    if shape.type_name == "boolean" and not given:
        return True
    if shape.type_name == "list" and not given[0].startswith("["):
        return [_value(shape.member, [word]) for word in given]
    (text,) = given
    if text.startswith("file://"):
        text = Path(text.removeprefix("file://")).read_text("utf-8")
    if shape.type_name in {"structure", "map", "list"}:
        if text.startswith(("{", "[")):
            return json.loads(text)
        pairs = (pair.split("=", 1) for pair in text.split(","))
        return {name: _value(shape.members[name], [value]) for name, value in pairs}
    kinds: dict[str, Callable[[str], Any]] = {"blob": str.encode}
    kinds |= dict.fromkeys(("integer", "long"), int) | dict.fromkeys(("double", "float"), float)
    return kinds.get(shape.type_name, str)(text)


def _text(answer: Any) -> str:
    """Return an answer as `--output text` does."""
    if not isinstance(answer, list):
        return str(answer)
    if any(isinstance(each, list) for each in answer):
        return "\n".join(map(_text, answer))
    return "\t".join(map(str, answer))
