"""Steps of `make deploy` around `sam deploy`: checks, the release stamp, and old versions.

For China, the stamp step also omits the parts that CloudFormation may refuse there. A
function's alias points to a published version. SAM publishes a version only if the function's
definition in the template changes, and ignores changed values of parameters and references. Each
deployment therefore writes the time into the built template.

python -m local.release platform|stamp|prune dev|prod
"""

import shlex
import sys
import tomllib
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import boto3
import yaml
from botocore.exceptions import BotoCoreError, ClientError

from local import places
from local.account import NEW_TO_CLOUDFRONT, check_concurrency, has_distribution
from local.build import architecture as machine
from local.errors import StackError
from local.template import read_template

if TYPE_CHECKING:
    from mypy_boto3_lambda import LambdaClient

BUILT = places.ROOT / ".aws-sam" / "build"
PLATFORMS = {"arm64": "aarch64-manylinux_2_28", "x86_64": "x86_64-manylinux_2_28"}
_MACHINES = {0xB7: "arm64", 0x3E: "x86_64"}
"""Lambda's processor names, keyed by ELF machine number."""


def settings_of(stage: str, root: Path = places.ROOT) -> dict[str, Any]:
    """Return the `sam deploy` settings from samconfig.toml."""
    config = tomllib.loads((root / "samconfig.toml").read_text(encoding="utf-8"))
    given: dict[str, Any] = config.get(stage, {}).get("deploy", {}).get("parameters", {})
    return given


def overrides_of(stage: str, root: Path = places.ROOT) -> dict[str, str]:
    """Return the template parameters that samconfig.toml sets."""
    overrides = settings_of(stage, root).get("parameter_overrides", "")
    words = shlex.split(overrides) if isinstance(overrides, str) else overrides
    return dict(word.partition("=")[::2] for word in words)


def architecture(stage: str, root: Path = places.ROOT) -> str:
    """Return the processor from samconfig.toml or the template; for stage local, this machine's."""
    if stage == "local":
        return machine()
    chosen = overrides_of(stage, root)
    parameters = read_template(root / "template.yaml")["Parameters"]
    return str(chosen.get("Architecture") or parameters["Architecture"]["Default"])


def check_layers(expected: str, built: Path = BUILT) -> None:
    """Raise StackError if a layer contains a library for another processor."""
    libraries = sorted(built.glob("*Layer/**/*.so"))
    if not libraries:
        raise StackError(f"no layer is built in {built.name}: run `make build`")
    for library in libraries:
        with library.open("rb") as file:
            machine = _MACHINES.get(int.from_bytes(file.read(20)[18:20], "little"), "unknown")
        if machine != expected:
            raise StackError(
                f"{library.name} is built for {machine}, and samconfig.toml deploys {expected}: "
                "delete .aws-sam and deploy again"
            )


NOT_IN_CHINA = frozenset(
    {
        *("HasOriginKeys", "HasStaging", "MakeConsoleClient", "MakeIssuer", "MakePage", "MakePool"),
        *("NamePool", "OperatorsInPool"),
    }
)
"""Conditions of resource types that China lacks; CloudFormation may refuse them there."""


def without(conditions: frozenset[str], part: Any) -> Any:  # noqa: ANN401 - any part of a template
    """Return *part* of a long-form template, simplified as if all *conditions* were false."""
    if isinstance(part, list):
        return [without(conditions, item) for item in part]
    if not isinstance(part, dict):
        return part
    if part.keys() == {"Fn::If"} and part["Fn::If"][0] in conditions:
        return without(conditions, part["Fn::If"][2])
    return {
        name: without(conditions, value)
        for name, value in part.items()
        if not (isinstance(value, dict) and str(value.get("Condition")) in conditions)
    }


def stamp(release: str, built: Path = BUILT, region: str = "") -> None:
    """Write *release* into the environment of all functions in the built template."""
    path = built / "template.yaml"
    stamped = yaml.safe_load(path.read_text(encoding="utf-8"))
    if region.startswith("cn-"):
        stamped = without(NOT_IN_CHINA, stamped)
    stamped["Globals"]["Function"]["Environment"]["Variables"]["RELEASE"] = release
    path.write_text(yaml.safe_dump(stamped, sort_keys=False, allow_unicode=True), encoding="utf-8")


VERSIONS_KEPT = 2
"""Number of versions before the alias's version that are kept for a rollback."""


def prune(stack_name: str, session: boto3.Session) -> int:
    """Delete old versions of a stack's functions; return the number of deleted versions.

    SAM retains every published version, and with SnapStart each may be billed.
    """
    functions = session.client("lambda")
    pages = session.client("cloudformation").get_paginator("list_stack_resources")
    count = 0
    for page in pages.paginate(StackName=stack_name):
        for resource in page["StackResourceSummaries"]:
            if resource["ResourceType"] == "AWS::Lambda::Alias":
                name, _, alias = resource["PhysicalResourceId"].rpartition(":")
                for version in _old_versions(functions, name, alias):
                    functions.delete_function(FunctionName=name, Qualifier=version)
                    count += 1
    return count


def _old_versions(functions: "LambdaClient", name: str, alias_name: str) -> list[str]:
    alias = functions.get_alias(FunctionName=name, Name=alias_name)
    # During a canary release, the alias points to two versions.
    weights = alias.get("RoutingConfig", {}).get("AdditionalVersionWeights", {})
    first_used = min(int(version) for version in (alias["FunctionVersion"], *weights))
    pages = functions.get_paginator("list_versions_by_function").paginate(FunctionName=name)
    versions = [each["Version"] for page in pages for each in page["Versions"]]
    behind = sorted(int(each) for each in versions if each.isdecimal() and int(each) < first_used)
    return [str(version) for version in behind[:-VERSIONS_KEPT]]


def main(command: str, stage: str) -> None:
    """Print the layers' platform, prepare a deployment, or delete old versions afterward."""
    expected, settings = architecture(stage), settings_of(stage)
    session = boto3.Session(region_name=settings.get("region"))
    if command == "platform":
        print(PLATFORMS[expected])
        return
    if command == "prune":
        print(f"{prune(settings['stack_name'], session)} old versions of functions are deleted")
        return
    check_layers(expected)
    check_concurrency(stage, session.client("lambda"))
    has_page = overrides_of(stage).get("HostPage") == "true"
    if has_page and not has_distribution(session.client("cloudfront")):
        print(NEW_TO_CLOUDFRONT)
    release = f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}"
    stamp(release, region=session.region_name or "")
    print(f"Release {release}, for {expected}")


if __name__ == "__main__":
    try:
        main(sys.argv[1], sys.argv[2])
    except (StackError, BotoCoreError, ClientError) as error:
        sys.exit(f"make deploy: {error}")
