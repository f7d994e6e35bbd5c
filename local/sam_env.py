"""Command that writes a stack's function variables into a file for `sam local invoke`.

python -m local.sam_env dev|prod|local

For the local stack, the command also writes a copy of the built template with the emulator's
endpoint and this machine's processor, because SAM passes only variables that a template declares.
The variables file contains keys and passwords: only the owner may read the file, and Git ignores
it.
"""

import json
import os
import platform
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import boto3
import yaml
from botocore.exceptions import BotoCoreError, ClientError

from local import places
from local.build import architecture
from local.deploy import STACK_NAME
from local.errors import StackError
from local.ports import HOST
from local.stack import CREDENTIALS, REGION, client_of

if TYPE_CHECKING:
    from mypy_boto3_cloudformation import CloudFormationClient
    from mypy_boto3_lambda import LambdaClient

Variables = dict[str, dict[str, str]]
"""Environment variables of each function, keyed by logical id."""

ENV_FILE = places.LOCAL / "env.json"
BUILT = places.ROOT / ".aws-sam" / "local" / "build" / "template.yaml"
"""Template from `make build STAGE=local`. The copy beside it keeps relative paths valid."""
TEMPLATE_FILE = BUILT.with_name("invoke.yaml")
# Docker Desktop runs containers in a virtual machine, where this machine has a special host name.
_FROM_CONTAINERS = HOST if platform.system() == "Linux" else "host.docker.internal"


def read_variables(
    stacks: "CloudFormationClient", functions: "LambdaClient", stack_name: str
) -> Variables:
    """Return the variables of each function in a stack, keyed by logical id."""
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
        logical_id: functions.get_function_configuration(FunctionName=name)
        .get("Environment", {})
        .get("Variables", {})
        for logical_id, name in sorted(names.items())
    }


def read_local_variables(emulator: str) -> Variables:
    """Return the local stack's variables, with the emulator's address and keys."""
    found = read_variables(
        client_of(emulator, "cloudformation"), client_of(emulator, "lambda"), STACK_NAME
    )
    own = {
        "AWS_ENDPOINT_URL": emulator,
        "AWS_REGION": REGION,
        **{name.upper(): value for name, value in CREDENTIALS.items()},
        "AWS_SESSION_TOKEN": "",  # Override the shell's token.
    }
    return {
        name: {key: value.replace(HOST, _FROM_CONTAINERS) for key, value in (each | own).items()}
        for name, each in found.items()
        if each  # The operator pool's trigger has no variables.
    }


def with_names(template: dict[str, Any], variables: Variables) -> dict[str, Any]:
    """Return a copy of a template for this machine's processor that declares all *variables*."""
    resources = dict(template["Resources"])
    for name, each in variables.items():
        properties = resources[name]["Properties"]
        environment = {"Variables": dict.fromkeys(each, "")}
        resources[name] = {
            **resources[name],
            "Properties": {**properties, "Environment": environment},
        }
    chosen = {**template["Parameters"]["Architecture"], "Default": architecture()}
    parameters = {**template["Parameters"], "Architecture": chosen}
    return {**template, "Parameters": parameters, "Resources": resources}


def write(variables: Variables, path: Path) -> None:
    """Write the file so that only the owner can read it."""
    path.unlink(missing_ok=True)
    with open(path, "x", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
        json.dump(variables, file, indent=2, ensure_ascii=False)


def _write_local() -> Variables:
    """Write the copy of the template, and return the running stack's variables."""
    if not BUILT.exists():
        raise StackError("no functions are built for this machine: run `make build STAGE=local`")
    variables = read_local_variables(places.running_stack()["emulator"])
    template = with_names(yaml.safe_load(BUILT.read_text(encoding="utf-8")), variables)
    TEMPLATE_FILE.write_text(yaml.safe_dump(template, sort_keys=False), encoding="utf-8")
    print(f"{os.path.relpath(TEMPLATE_FILE)}: the template for containers here")
    return variables


def main() -> None:
    """Write the files for the stage on the command line."""
    (stage,) = sys.argv[1:]
    if stage == "local":
        variables = _write_local()
    else:
        cloud, functions = boto3.client("cloudformation"), boto3.client("lambda")
        variables = read_variables(cloud, functions, f"redpacket-{stage}")
    write(variables, ENV_FILE)
    print(f"{os.path.relpath(ENV_FILE)}: variables of {len(variables)} functions")


if __name__ == "__main__":
    try:
        main()
    except (StackError, BotoCoreError, ClientError) as error:
        sys.exit(f"make sam-env: {error}")
