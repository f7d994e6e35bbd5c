"""Command that writes artifact versions into the template of a planned deployment.

Days may pass between planning and deployment, and the planning role may write to SAM's bucket. A
change set that names versions deploys exactly the artifacts that its plan uploaded, or fails.

python -m local.artifacts
"""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import boto3
import yaml
from botocore.exceptions import BotoCoreError, ClientError

from local import places
from local.errors import StackError

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

PACKAGED = places.ROOT / ".aws-sam" / "packaged.yaml"
_SCHEME = "s3://"


def pin(store: "S3Client", packaged: Path = PACKAGED) -> list[str]:
    """Write artifact versions into the template, and return one line per artifact."""
    template = yaml.safe_load(packaged.read_text(encoding="utf-8"))
    lines = [
        f"{name}: {properties[uri]['Key']} in version {properties[uri]['Version']}"
        for name, properties, uri in _pinned(store, template["Resources"])
    ]
    packaged.write_text(yaml.safe_dump(template, sort_keys=False, allow_unicode=True), "utf-8")
    return lines


def _pinned(store: "S3Client", resources: dict[str, Any]) -> list[tuple[str, dict[str, Any], str]]:
    found = [
        (name, properties, uri)
        for name, resource in resources.items()
        for properties in [resource.get("Properties", {})]
        for uri in ("CodeUri", "ContentUri")
        if str(properties.get(uri, "")).startswith(_SCHEME)
    ]
    for _, properties, uri in found:
        bucket, _, key = properties[uri].removeprefix(_SCHEME).partition("/")
        stored = store.head_object(Bucket=bucket, Key=key)
        if "VersionId" not in stored:
            raise StackError(f"the bucket {bucket} keeps no versions: turn versioning on")
        properties[uri] = {"Bucket": bucket, "Key": key, "Version": stored["VersionId"]}
    if not found:
        raise StackError(f"{PACKAGED.name} names no artifact")
    return found


if __name__ == "__main__":
    try:
        print("\n".join(pin(boto3.client("s3"))))
    except (StackError, BotoCoreError, ClientError) as error:
        sys.exit(f"make deploy: {error}")
