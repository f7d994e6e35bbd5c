"""Writes the variables of all functions of a stack for `sam local invoke --env-vars`.

    python -m local.sam_env redpacket-dev

The file holds keys and passwords: only its owner may read it, and Git ignores it.
"""

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import boto3

from local import places
from local.errors import StackError

if TYPE_CHECKING:
    from mypy_boto3_cloudformation import CloudFormationClient
    from mypy_boto3_lambda import LambdaClient

ENV_FILE = places.LOCAL / "env.json"


def read_variables(
    stacks: "CloudFormationClient", functions: "LambdaClient", stack_name: str
) -> dict[str, dict[str, str]]:
    """Return the variables of each function of a stack by its logical id."""
    pages = stacks.get_paginator("list_stack_resources").paginate(StackName=stack_name)
    names = {
        resource["LogicalResourceId"]: resource["PhysicalResourceId"]
        for page in pages
        for resource in page["StackResourceSummaries"]
        if resource["ResourceType"] == "AWS::Lambda::Function"
    }
    if not names:
        raise StackError(f"{stack_name} has no functions: deploy it with `make deploy`")
    return {
        logical_id: functions.get_function_configuration(FunctionName=name)["Environment"][
            "Variables"
        ]
        for logical_id, name in sorted(names.items())
    }


def write(variables: dict[str, dict[str, str]], path: Path) -> None:
    """Write the file for its owner alone."""
    path.unlink(missing_ok=True)
    with open(path, "x", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
        json.dump(variables, file, indent=2, ensure_ascii=False)


def main() -> None:
    """Write the variables of the stack that the command names."""
    (stack_name,) = sys.argv[1:]
    variables = read_variables(boto3.client("cloudformation"), boto3.client("lambda"), stack_name)
    write(variables, ENV_FILE)
    print(f"{ENV_FILE.relative_to(places.ROOT)}: variables of {len(variables)} functions")


if __name__ == "__main__":
    main()
