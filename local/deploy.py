"""Deployment of a build to the emulator through CloudFormation, as `sam deploy` does on AWS."""

import json
import time
from copy import deepcopy
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

from botocore.exceptions import BotoCoreError, ClientError

from local.build import ARTIFACT_BUCKET, Build
from local.errors import StackError

if TYPE_CHECKING:
    from mypy_boto3_cloudformation import CloudFormationClient
    from mypy_boto3_s3 import S3Client

STACK_NAME = "redpacket-local"
TEMPLATE_KEY = "template.json"
# Maximum seconds for a deployment, which takes two on an idle machine and many on a busy one.
DEPLOY_TIMEOUT_S = 120.0
EXPORTS_AT_ONCE = {"SnapshotAgeS": "0", "WindowMs": "0"}
"""State machine substitutions that remove the exports' delay and minimum window."""
_LOOK = "read logs/emulator.log in the stack's folder below .local/state"


def deploy(
    build: Build,
    parameters: dict[str, str],
    variables: dict[str, str],
    *,
    cloud: "CloudFormationClient",
    store: "S3Client",
) -> dict[str, str]:
    """Create or update the stack from *build*, and return its outputs.

    Parameters that the template does not declare are omitted. All functions also get *variables*,
    which the template does not set.
    """
    try:
        return _deploy(_with_variables(build, variables), parameters, cloud, store)
    except (ClientError, BotoCoreError) as error:
        raise StackError(f"the template is not deployed: {error}. Run `make build`") from error


def _deploy(
    build: Build, parameters: dict[str, str], cloud: "CloudFormationClient", store: "S3Client"
) -> dict[str, str]:
    name = f"deployment-{time.time_ns()}"
    kind: Literal["CREATE", "UPDATE"] = "UPDATE" if _is_deployed(cloud) else "CREATE"
    store.create_bucket(Bucket=ARTIFACT_BUCKET)
    for archive in build.archives:
        key = f"{archive.parent.name}/{archive.name}"
        store.put_object(Bucket=ARTIFACT_BUCKET, Key=key, Body=archive.read_bytes())
    # The template exceeds the request limit of 51,200 bytes. `sam deploy` also uploads templates.
    template = json.dumps(_as_emulated(build.template), ensure_ascii=False, separators=(",", ":"))
    store.put_object(Bucket=ARTIFACT_BUCKET, Key=TEMPLATE_KEY, Body=template.encode())
    cloud.create_change_set(
        StackName=STACK_NAME,
        ChangeSetName=name,
        ChangeSetType=kind,
        TemplateURL=f"{store.meta.endpoint_url}/{ARTIFACT_BUCKET}/{TEMPLATE_KEY}",
        Capabilities=["CAPABILITY_IAM", "CAPABILITY_AUTO_EXPAND"],
        Parameters=[
            {"ParameterKey": name, "ParameterValue": value}
            for name, value in parameters.items()
            if name in build.template.get("Parameters", {})
        ],
    )
    _wait_for_change_set(cloud, name)
    cloud.execute_change_set(StackName=STACK_NAME, ChangeSetName=name)
    return _wait_for_outputs(cloud, f"{kind}_COMPLETE")


def _is_deployed(cloud: "CloudFormationClient") -> bool:
    return any(each["StackName"] == STACK_NAME for each in cloud.describe_stacks()["Stacks"])


def _with_variables(build: Build, variables: dict[str, str]) -> Build:
    template = deepcopy(build.template)
    for resource in template["Resources"].values():
        if resource["Type"] in {"AWS::Lambda::Function", "AWS::Serverless::Function"}:
            environment = resource["Properties"].setdefault("Environment", {"Variables": {}})
            environment["Variables"] = {**environment["Variables"], **variables}
    return replace(build, template=template)


def _is_left_out(resource: dict[str, Any]) -> bool:
    """Return whether to omit a resource: a saved query, or a bucket policy that requires TLS."""
    if resource.get("Type") == "AWS::S3::BucketPolicy":
        statements = resource["Properties"]["PolicyDocument"]["Statement"]
        return all(statement["Effect"] == "Deny" for statement in statements)
    return resource.get("Type") == "AWS::Athena::NamedQuery"


def _as_emulated(part: Any) -> Any:  # noqa: ANN401 - any part of a template
    """Return part of a template, adapted to the emulator's differences from AWS.

    On AWS, the permission to send one message also covers batches; the emulator requires a separate
    action, which IAM lacks. The emulator ignores the projection of a BatchGetItem call. It also
    ignores the attributes in a PutItem call, so `ForAnyValue` conditions would fail. In CORS
    settings, it expects names such as `allowOrigins`. It has no metric math, so the alarms on
    missing data become plain alarms.
    """
    if isinstance(part, list):
        return [_as_emulated(item) for item in part]
    if not isinstance(part, dict):
        return part
    made = {
        name: _as_emulated(value)
        for name, value in part.items()
        if not (isinstance(value, dict) and _is_left_out(value))
    }
    if "sqs:SendMessage" in made.get("Action", ()):
        made["Action"] = [*made["Action"], "sqs:SendMessageBatch"]
    if "dynamodb:BatchGetItem" in made.get("Action", ()):
        made.pop("Condition", None)
    made.pop("ForAnyValue:StringEquals", None)
    if "DefinitionSubstitutions" in made:
        made["DefinitionSubstitutions"] |= EXPORTS_AT_ONCE
    if made.get("TreatMissingData") == "ignore":
        watched = made.pop("Metrics")[-1]["MetricStat"]
        plain = {"Period": watched["Period"], "Statistic": watched["Stat"]}
        made |= {**watched["Metric"], **plain, "TreatMissingData": "breaching"}
    if "AllowOrigins" in made:
        return {f"{name[0].lower()}{name[1:]}": value for name, value in made.items()}
    return made


def _wait_for_change_set(cloud: "CloudFormationClient", name: str) -> None:
    deadline = time.monotonic() + DEPLOY_TIMEOUT_S
    while time.monotonic() < deadline:
        change_set = cloud.describe_change_set(StackName=STACK_NAME, ChangeSetName=name)
        if change_set["Status"] == "CREATE_COMPLETE":
            return
        if change_set["Status"] == "FAILED":
            raise StackError(f"the template is refused: {change_set.get('StatusReason', _LOOK)}")
        time.sleep(0.05)
    raise StackError(f"the change set was not ready after {DEPLOY_TIMEOUT_S:.0f} s: {_LOOK}")


def _wait_for_outputs(cloud: "CloudFormationClient", status: str) -> dict[str, str]:
    deadline = time.monotonic() + DEPLOY_TIMEOUT_S
    while time.monotonic() < deadline:
        stack = cloud.describe_stacks(StackName=STACK_NAME)["Stacks"][0]
        if stack["StackStatus"] == status:
            return {o["OutputKey"]: o["OutputValue"] for o in stack.get("Outputs", [])}
        if not stack["StackStatus"].endswith("_IN_PROGRESS") or "ROLLBACK" in stack["StackStatus"]:
            raise StackError(f"the deployment failed: {stack['StackStatus']}{_failures(cloud)}")
        time.sleep(0.05)
    raise StackError(f"the deployment did not end within {DEPLOY_TIMEOUT_S:.0f} s: {_LOOK}")


def _failures(cloud: "CloudFormationClient") -> str:
    events = cloud.describe_stack_events(StackName=STACK_NAME)["StackEvents"]
    return "".join(
        f"\n    {event['LogicalResourceId']}: {event.get('ResourceStatusReason', 'no reason')}"
        for event in events
        if event["ResourceStatus"].endswith("FAILED")
    )
