"""Evaluation of requests against the IAM roles of a translated stack."""

from typing import Any

from local.iam import Access, allows
from tests.template.translated import Stack

__all__ = ["ALL", "NAMED", "Access", "allows", "may", "statements"]

NAMED, ALL = "SPECIFIC_ATTRIBUTES", "ALL_ATTRIBUTES"


def statements(stack: Stack, function: str) -> list[dict[str, Any]]:
    """Return the statements of a function's role, with all intrinsics resolved."""
    role = stack.of_type("AWS::IAM::Role")[f"{function}Role"]
    return [
        statement
        for policy in role["Policies"]
        for statement in policy["PolicyDocument"]["Statement"]
    ]


def may(stack: Stack, access: Access) -> bool:
    """Return whether a function's role allows the request."""
    return any(allows(statement, access) for statement in statements(stack, access.function))
