"""Planned deployments: each names the immutable stored version of every artifact."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from local import artifacts
from local.errors import StackError
from local.places import ROOT


class Bucket:
    """Bucket whose objects have versions if *is_versioned*."""

    def __init__(self, *, is_versioned: bool = True) -> None:
        self._is_versioned = is_versioned

    def head_object(self, **asked: str) -> dict[str, str]:
        return {"VersionId": f"version-of-{asked['Key']}"} if self._is_versioned else {}


def _packaged(folder: Path, resources: dict[str, Any]) -> Path:
    path = folder / "packaged.yaml"
    template = {"Transform": "AWS::Serverless-2016-10-31", "Resources": resources}
    path.write_text(yaml.safe_dump(template), encoding="utf-8")
    return path


def _resources() -> dict[str, Any]:
    function = {"CodeUri": "s3://sams/abc"}
    layer = {"ContentUri": "s3://sams/stack/def"}
    return {
        "SendFunction": {"Type": "AWS::Serverless::Function", "Properties": function},
        "SharedLayer": {"Type": "AWS::Serverless::LayerVersion", "Properties": layer},
        "AdminGroup": {"Type": "AWS::Cognito::UserPoolGroup"},
    }


def test_each_function_and_layer_uses_the_version_that_the_plan_uploaded(tmp_path: Path) -> None:
    path = _packaged(tmp_path, _resources())
    bucket: Any = Bucket()

    lines = artifacts.pin(bucket, path)

    resources = yaml.safe_load(path.read_text(encoding="utf-8"))["Resources"]
    assert lines == [
        "SendFunction: abc in version version-of-abc",
        "SharedLayer: stack/def in version version-of-stack/def",
    ]
    # AWS SAM turns `Version` into S3ObjectVersion.
    assert [
        resources["SendFunction"]["Properties"]["CodeUri"],
        resources["SharedLayer"]["Properties"]["ContentUri"],
    ] == [
        {"Bucket": "sams", "Key": "abc", "Version": "version-of-abc"},
        {"Bucket": "sams", "Key": "stack/def", "Version": "version-of-stack/def"},
    ]


def test_a_bucket_without_versions_and_a_template_without_artifacts_are_refused(
    tmp_path: Path,
) -> None:
    bucket: Any = Bucket(is_versioned=False)

    with pytest.raises(StackError, match="bucket sams keeps no versions"):
        artifacts.pin(bucket, _packaged(tmp_path, _resources()))
    with pytest.raises(StackError, match="no artifact"):
        artifacts.pin(bucket, _packaged(tmp_path, {"AdminGroup": _resources()["AdminGroup"]}))


def _workflow() -> dict[str, Any]:
    text = (ROOT / ".github" / "workflows" / "deploy.yml").read_text(encoding="utf-8")
    jobs: dict[str, Any] = yaml.safe_load(text)["jobs"]
    return jobs


def test_each_stage_is_planned_and_executed_with_its_own_roles() -> None:
    jobs = _workflow()

    assert jobs["plan"]["environment"] == "${{ inputs.stage }}-plan"
    assert jobs["execute"]["environment"] == "${{ inputs.stage }}"
    for job in ("plan", "execute"):
        roles = [
            step["with"]["role-to-assume"] for step in jobs[job]["steps"] if "role-to" in str(step)
        ]
        assert roles == ["${{ vars.AWS_ROLE_ARN }}"]


def test_the_execution_refuses_an_artifact_without_a_version() -> None:
    script = _workflow()["execute"]["steps"][-1]["run"]

    assert script.index("S3ObjectVersion") < script.index("execute-change-set")


def test_the_planning_role_can_neither_execute_a_plan_nor_replace_a_version() -> None:
    role = json.loads((ROOT / ".github" / "plan-role.json").read_text(encoding="utf-8"))
    actions = [statement["Action"] for statement in role["Statement"]]
    allowed = {each for some in actions for each in ([some] if isinstance(some, str) else some)}
    asked_before = {"lambda:GetAccountSettings", "cloudfront:ListDistributions"}

    assert asked_before <= allowed, "local/account.py asks for these"
    assert not [
        each for each in allowed if re.search(r":(Execute|Delete|Update|PutBucket|\*)", each)
    ]
