"""Comparison of two openapi.json versions for changes that break clients or webhook receivers.

`docs/reference/stability.md` has the promises. Requests may accept more. Responses and webhooks may
gain fields, enumeration values, and alternatives of known types, but lose none.
`tests/unit/local/test_contract.py` has examples of breaking changes.
"""

from collections.abc import Iterator
from typing import Any, TypeAlias

Node: TypeAlias = dict[str, Any]

_UPPER = ("maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties")
_LOWER = ("minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties")
_FIXED = ("pattern", "format", "uniqueItems")
"""Request schema keywords that may only be removed: a new or changed one may reject more values."""


def breaks(old: Node, new: Node) -> list[str]:
    """Return the breaking changes between two contracts, each with its location."""
    return sorted(set(_Comparison(old, new).all()))


class _Comparison:
    """Comparison of two contracts that resolves the references in both."""

    def __init__(self, old: Node, new: Node) -> None:
        self._old, self._new = old, new
        self._under_way: frozenset[tuple[str, str, bool]] = frozenset()

    def all(self) -> Iterator[str]:
        """Yield the breaking changes in routes and webhooks."""
        for kind in ("paths", "webhooks"):
            before, after = _operations(self._old, kind), _operations(self._new, kind)
            for key, operation in before.items():
                if key not in after:
                    yield f"{key}: removed"
                elif kind == "paths":
                    yield from self._route(key, operation, after[key])
                else:
                    yield from self._content(
                        key, operation["requestBody"], after[key]["requestBody"], is_sent=False
                    )

    def _route(self, key: str, old: Node, new: Node) -> Iterator[str]:
        if old["operationId"] != new["operationId"]:
            yield f"{key}: operationId changed"
        before = old.get("security", self._old.get("security", []))
        after = new.get("security", self._new.get("security", []))
        if after and (not before or any(allowed not in after for allowed in before)):
            yield f"{key}: fewer callers are allowed"
        yield from self._parameters(key, old, new)
        yield from self._body(key, old, new)
        yield from self._responses(key, old, new)

    def _parameters(self, key: str, old: Node, new: Node) -> Iterator[str]:
        before, after = (
            {(each["in"], each["name"]): each for each in map(resolved, node.get("parameters", []))}
            for node, resolved in ((old, self._resolve_old), (new, self._resolve_new))
        )
        for (where, name), parameter in after.items():
            known = before.get((where, name))
            if parameter.get("required") and not (known and known.get("required")):
                yield f"{key}: {where} {name} is required"
            if known:
                place = f"{key} {where} {name}"
                yield from self._schema(place, known["schema"], parameter["schema"], is_sent=True)
        yield from (f"{key}: {where} {name} removed" for where, name in before.keys() - after)

    def _body(self, key: str, old: Node, new: Node) -> Iterator[str]:
        before, after = old.get("requestBody"), new.get("requestBody")
        if before and after:
            yield from self._content(f"{key} body", before, after, is_sent=True)
        elif before:
            yield f"{key}: body removed"
        if after and after.get("required") and not (before and before.get("required")):
            yield f"{key}: body is required"

    def _responses(self, key: str, old: Node, new: Node) -> Iterator[str]:
        for status, response in old["responses"].items():
            if status not in new["responses"]:
                yield f"{key}: {status} removed"
                continue
            before = self._resolve_old(response)
            after = self._resolve_new(new["responses"][status])
            place = f"{key} {status}"
            for header in before.get("headers", {}).keys() - after.get("headers", {}):
                yield f"{place}: header {header} removed"
            yield from self._content(place, before, after, is_sent=False)
        for status in new["responses"].keys() - old["responses"]:
            if status.startswith("2"):
                yield f"{key}: {status} added"

    def _content(self, place: str, old: Node, new: Node, *, is_sent: bool) -> Iterator[str]:
        after = new.get("content", {})
        for media_type, content in old.get("content", {}).items():
            if media_type not in after:
                yield f"{place}: {media_type} removed"
            else:
                schemas = content.get("schema", {}), after[media_type].get("schema", {})
                yield from self._schema(place, *schemas, is_sent=is_sent)

    def _schema(self, place: str, old: Node, new: Node, *, is_sent: bool) -> Iterator[str]:
        """Yield the breaking changes in a schema that clients either send or receive."""
        pair = (old.get("$ref", ""), new.get("$ref", ""), is_sent)
        if pair in self._under_way:
            return
        outer = self._under_way
        self._under_way = outer | {pair} if all(pair[:2]) else outer
        old, new = self._resolve_old(old), self._resolve_new(new)
        before, after = _alternatives(old), _alternatives(new)
        if len(before) == len(after) == 1:
            found = list(self._alternative(place, old, new, is_sent=is_sent))
        else:
            found = list(self._union(place, before, after, is_sent=is_sent))
        self._under_way = outer
        yield from found

    def _union(
        self, place: str, old: list[Node], new: list[Node], *, is_sent: bool
    ) -> Iterator[str]:
        for number, one in enumerate(old):
            if all(any(self._schema("", one, other, is_sent=is_sent)) for other in new):
                yield f"{place}: alternative {one.get('$ref', number)} removed or changed"
        if not is_sent:
            known = {name for one in old for name in _types(self._resolve_old(one))}
            for other in new:
                for name in _types(self._resolve_new(other)) - known:
                    yield f"{place}: may be {name}"

    def _alternative(self, place: str, old: Node, new: Node, *, is_sent: bool) -> Iterator[str]:
        before, after = _types(old), _types(new)
        narrow, wide = (before, after) if is_sent else (after, before)
        if wide and not (narrow and narrow <= wide):
            yield f"{place}: type changed"
        words, others = _words(old), _words(new)
        if words is not None and others is not None:
            yield from (f"{place}: {word} removed" for word in words if word not in others)
        elif is_sent and others is not None:
            yield f"{place}: only some words"
        if is_sent:
            yield from _tighter(place, old, new)
        yield from self._fields(place, old, new, is_sent=is_sent)
        for part in ("items", "additionalProperties"):
            if isinstance(old.get(part), dict) and isinstance(new.get(part), dict):
                yield from self._schema(f"{place}[]", old[part], new[part], is_sent=is_sent)

    def _fields(self, place: str, old: Node, new: Node, *, is_sent: bool) -> Iterator[str]:
        for kind in ("properties", "patternProperties"):
            after = new.get(kind, {})
            for name, schema in old.get(kind, {}).items():
                if name in after:
                    field = f"{place}.{name}"
                    yield from self._schema(field, schema, after[name], is_sent=is_sent)
                else:
                    yield f"{place}.{name}: removed"
        required, still = set(old.get("required", [])), set(new.get("required", []))
        if is_sent:
            yield from (f"{place}.{name}: required" for name in still - required)
        else:
            yield from (f"{place}.{name}: optional" for name in required - still)

    def _resolve_old(self, node: Node) -> Node:
        return _resolve(self._old, node)

    def _resolve_new(self, node: Node) -> Node:
        return _resolve(self._new, node)


def _operations(contract: Node, kind: str) -> dict[str, Node]:
    return {
        f"{method.upper()} {path}": operation
        for path, methods in contract.get(kind, {}).items()
        for method, operation in methods.items()
    }


def _resolve(contract: Node, node: Node) -> Node:
    while "$ref" in node:
        target: Any = contract
        for part in node["$ref"].removeprefix("#/").split("/"):
            target = target[part.replace("~1", "/").replace("~0", "~")]
        node = target
    return node


def _alternatives(node: Node) -> list[Node]:
    found: list[Node] = node.get("anyOf") or node.get("oneOf") or [node]
    return found


def _types(node: Node) -> set[str]:
    named = node.get("type", [])
    return {named} if isinstance(named, str) else set(named)


def _words(node: Node) -> list[Any] | None:
    if "const" in node:
        return [node["const"]]
    words: list[Any] | None = node.get("enum")
    return words


def _tighter(place: str, old: Node, new: Node) -> Iterator[str]:
    """Yield the request bounds that reject previously accepted values."""
    for names, sign in ((_UPPER, 1), (_LOWER, -1)):
        for name in names:
            if name in new and (name not in old or sign * new[name] < sign * old[name]):
                yield f"{place}: {name} is {new[name]}"
    for name in _FIXED:
        if name in new and new[name] != old.get(name):
            yield f"{place}: {name} changed"
