"""Contract for the Python client: `openapi.json` without closed enumerations in responses.

`docs/reference/stability.md` lets a later version add enumeration values and codes to responses.
Enumerations in responses become plain strings, and each error response becomes a `Problem` with any
code. Enumerations in requests stay closed.
"""

import json
import sys
from typing import Any

from local import places

Schema = dict[str, Any]

_REF = "#/components/schemas/"
_TYPES = {str: "string", int: "integer", bool: "boolean", type(None): "null"}
_CLOSED = {"enum", "const", "discriminator"}
PROBLEM: Schema = {
    "type": "object",
    "description": "A refusal; its code may be new. API Gateway's refusals have only a message.",
    "properties": {
        **{name: {"type": "string"} for name in ("type", "title", "detail", "code", "instance")},
        "status": {"type": "integer"},
        "errors": {
            "type": "array",
            "description": "The fields that `invalid_request` names.",
            "items": {
                "type": "object",
                "properties": {"field": {"type": "string"}, "message": {"type": "string"}},
            },
        },
        "message": {"type": ["string", "null"]},
    },
}


def loosened(contract: Schema) -> Schema:
    """Return a copy of the contract whose responses and events accept new values and codes."""
    copy: Schema = json.loads(json.dumps(contract))
    schemas = copy["components"]["schemas"]
    for name in [each for each in schemas if each.endswith("Problem")] + ["GatewayMessage"]:
        del schemas[name]
    schemas["Problem"] = PROBLEM
    answers = _Answers(schemas)
    for response in copy["components"]["responses"].values():
        response["content"] = {"application/json": {"schema": {"$ref": f"{_REF}Problem"}}}
    for path in copy["paths"].values():
        for operation in path.values():
            for response in operation["responses"].values():
                _loosen_contents(answers, response)
    for event in copy["webhooks"].values():
        _loosen_contents(answers, event["post"]["requestBody"])
    return copy


def _loosen_contents(answers: "_Answers", holder: Schema) -> None:
    for content in holder.get("content", {}).values():
        content["schema"] = answers.loosen(content["schema"])


class _Answers:
    """Converter that removes closed enumerations from response schemas in place."""

    def __init__(self, schemas: Schema) -> None:
        self._schemas = schemas
        self._opened: set[str] = set()

    def loosen(self, schema: Schema) -> Schema:
        """Return a schema without closed enumerations.

        A reference to an object or a union stays, and its target is changed. References to other
        schemas are replaced by changed copies, because requests may use those schemas.
        """
        if "$ref" in schema:
            name = schema["$ref"].removeprefix(_REF)
            target = self._schemas[name]
            if "properties" not in target and "oneOf" not in target:
                return self.loosen(target)
            if name not in self._opened:
                self._opened.add(name)
                self._schemas[name] = self.loosen(target)
            return schema
        opened = {key: value for key, value in schema.items() if key not in _CLOSED}
        if "type" not in schema and schema.keys() & {"enum", "const"}:
            words = schema["enum"] if "enum" in schema else [schema["const"]]
            opened["type"] = sorted({_TYPES[type(word)] for word in words})
        return {key: self._loosen_part(key, value) for key, value in opened.items()}

    def _loosen_part(self, key: str, value: Any) -> Any:  # noqa: ANN401 - any JSON
        if key in {"properties", "patternProperties"}:
            return {name: self.loosen(each) for name, each in value.items()}
        if key in {"items", "additionalProperties"} and isinstance(value, dict):
            return self.loosen(value)
        return [self.loosen(each) for each in value] if key in {"oneOf", "anyOf"} else value


if __name__ == "__main__":
    given = json.loads((places.ROOT / "openapi.json").read_text(encoding="utf-8"))
    json.dump(loosened(given), sys.stdout)
