"""Evaluation of an IAM statement with resolved values, for one item of a request.

DynamoDB passes IAM the partition (`LeadingKeys`), the top-level attributes in a request
(`Attributes`), the kind of data that a read returns (`Select`), and the data that a write returns
(`ReturnValues`). If the condition key is absent, a `ForAllValues` condition holds and a
`ForAnyValue` condition does not.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

_MATCHES: dict[str, Callable[[str, str], bool]] = {
    "StringEquals": str.__eq__,
    "StringLike": fnmatchcase,
}


@dataclass(frozen=True)
class Access:
    """Access to one item that a policy must allow; a read lists only the projected attributes."""

    function: str
    action: str
    resource: str
    attributes: frozenset[str] = frozenset()
    returned: str = "NONE"
    partitions: frozenset[str] = frozenset()
    select: str = ""
    namespace: str = ""

    def __str__(self) -> str:
        return f"{self.function}: {self.action} on {self.resource} of {sorted(self.attributes)}"

    @property
    def context(self) -> dict[str, frozenset[str]]:
        """Return the values of each condition key, an empty set if the request lacks the key."""
        return {
            "dynamodb:Attributes": self.attributes,
            "dynamodb:LeadingKeys": self.partitions,
            "dynamodb:ReturnValues": frozenset({self.returned}),
            "dynamodb:Select": frozenset({self.select} - {""}),
            "cloudwatch:namespace": frozenset({self.namespace} - {""}),
        }


def allows(statement: dict[str, Any], access: Access) -> bool:
    """Return whether a statement allows the access; unknown conditions raise an error."""
    assert statement["Effect"] == "Allow", "this evaluator does not support Deny statements"
    resources = statement["Resource"]
    names = [resources] if isinstance(resources, str) else resources
    return (
        access.action in statement["Action"]
        and any(fnmatchcase(access.resource, name) for name in names)
        and all(
            _holds(operator, values, access.context[key])
            for operator, tests in statement.get("Condition", {}).items()
            for key, values in tests.items()
        )
    )


def _holds(operator: str, values: Any, given: frozenset[str]) -> bool:  # noqa: ANN401 - of JSON
    if operator == "Null":
        return bool(values == "true") == (not given)
    needs_one = operator.startswith("ForAnyValue:")
    name = operator.removeprefix("ForAllValues:").removeprefix("ForAnyValue:")
    matches = _MATCHES[name.removesuffix("IfExists")]
    if not given:
        return name.removesuffix("IfExists") != operator and not needs_one
    wanted = [values] if isinstance(values, str) else values
    held = (any(matches(each, like) for like in wanted) for each in given)
    return any(held) if needs_one else all(held)
