"""Deletion of a deployed stack, and of resources that would block the deletion or remain.

python -m local.teardown dev|prod [--all]

By default, the command keeps the tables, secrets, the log's key, and the user pool, which may hold
real money and names. With --all, which declares that no data is real, it deletes them.
"""

import argparse
import os
import re
import sys
from collections.abc import Callable
from typing import Any

import boto3
from botocore.exceptions import BotoCoreError, ClientError, WaiterError

from local.errors import StackError
from local.release import settings_of

Resources = list[tuple[str, str]]
"""Type and physical id of each resource."""

LOOK_S, LOOKS_MAX = 15, 240
KEY_WAITS_DAYS = 7
"""Days until KMS deletes a key after the request, the minimum that KMS allows."""


def wait_until_deleted(cloud: Any, stack_id: str) -> None:  # noqa: ANN401 - a client of AWS
    """Wait until a stack is deleted. Raises StackError if the deletion fails."""
    looks = {"Delay": LOOK_S, "MaxAttempts": LOOKS_MAX}
    try:
        cloud.get_waiter("stack_delete_complete").wait(StackName=stack_id, WaiterConfig=looks)
    except WaiterError as error:
        raise StackError(f"the stack is not deleted. Run the command again: {error}") from error


class Teardown:
    """Deletion of one stack. A caller can retry it, even after the stack itself is deleted."""

    def __init__(self, stack_name: str, session: boto3.Session, say: Callable[[str], None]) -> None:
        self._stack_name = stack_name
        self._session = session
        self._say = say
        self._cloud: Any = session.client("cloudformation")
        self._stack_id, self._is_there = self._find()
        self._resources = self._read()

    def run(self, *, has_all: bool) -> None:
        """Empty resources and delete the stack; with *has_all*, also delete retained resources."""
        if self._is_there:
            self._delete_stack()
        elif not has_all:
            raise StackError(f"there is no stack {self._stack_name} to delete")
        if has_all:
            self._delete_kept()

    def _delete_stack(self) -> None:
        """Remove everything that would block the deletion of the stack, then delete the stack."""
        for bucket in self._of("AWS::S3::Bucket"):
            self._empty(bucket)
        self._delete_databases()
        self._say("deleting the stack: 10 to 20 minutes, most of them for the cache and network")
        self._cloud.update_termination_protection(
            StackName=self._stack_name, EnableTerminationProtection=False
        )
        self._cloud.delete_stack(StackName=self._stack_name)
        wait_until_deleted(self._cloud, self._stack_id)

    def _find(self) -> tuple[str, bool]:
        """Return the stack's id, and whether it exists. Raises StackError if AWS lists none."""
        pages = self._cloud.get_paginator("list_stacks").paginate()
        found = [
            each
            for page in pages
            for each in page["StackSummaries"]
            if each["StackName"] == self._stack_name
        ]
        if not found:
            raise StackError(f"there is no stack {self._stack_name} to delete")
        last = max(found, key=lambda each: each["CreationTime"])
        return last["StackId"], last["StackStatus"] != "DELETE_COMPLETE"

    def _read(self) -> Resources:
        """Return the stack's resources or, after its deletion, those that remain."""
        call, part = (
            ("list_stack_resources", "StackResourceSummaries")
            if self._is_there
            else ("describe_stack_events", "StackEvents")
        )
        return [
            (each["ResourceType"], each["PhysicalResourceId"])
            for page in self._cloud.get_paginator(call).paginate(StackName=self._stack_id)
            for each in page[part]
            if each.get("PhysicalResourceId")
            and (self._is_there or each["ResourceStatus"] == "DELETE_SKIPPED")
        ]

    def _of(self, kind: str) -> list[str]:
        return [name for each, name in self._resources if each == kind]

    def _empty(self, name: str) -> None:
        """Delete all object versions in a bucket."""
        store = self._session.resource("s3")
        try:
            store.Bucket(name).object_versions.delete()
        except ClientError as error:
            if error.response["Error"]["Code"] != "NoSuchBucket":
                raise
        self._say(f"emptied bucket {name}")

    def _delete_databases(self) -> None:
        """Delete the databases that reconciliation creates outside the stack."""
        glue: Any = self._session.client("glue")
        prefix = f"redpacket_{self._stack_id.rpartition('/')[2].replace('-', '_')}_"
        of_stack = set(self._of("AWS::Glue::Database"))
        for page in glue.get_paginator("get_databases").paginate():
            for database in page["DatabaseList"]:
                if database["Name"].startswith(prefix) and database["Name"] not in of_stack:
                    glue.delete_database(Name=database["Name"])
                    self._say(f"deleted database {database['Name']}")

    def _kept(self) -> dict[str, Callable[[str], object]]:
        """Return the functions that delete retained resources, keyed by resource type."""
        tables, secrets = self._session.client("dynamodb"), self._session.client("secretsmanager")
        keys: Any = self._session.client("kms")
        pools: Any = self._session.client("cognito-idp")
        return {
            "AWS::DynamoDB::Table": lambda name: tables.delete_table(TableName=name),
            "AWS::SecretsManager::Secret": lambda name: secrets.delete_secret(
                SecretId=name, ForceDeleteWithoutRecovery=True
            ),
            "AWS::KMS::Key": lambda name: keys.schedule_key_deletion(
                KeyId=name, PendingWindowInDays=KEY_WAITS_DAYS
            ),
            "AWS::Cognito::UserPool": lambda name: pools.delete_user_pool(UserPoolId=name),
        }

    def _delete_kept(self) -> None:
        """Delete the retained resources. Raises StackError with the names of those that remain."""
        left = []
        for kind, delete in self._kept().items():
            for name in self._of(kind):
                try:
                    delete(name)
                except ClientError as error:
                    # KMS reports an invalid state for a key whose deletion is scheduled.
                    if not re.search("NotFound|InvalidState", error.response["Error"]["Code"]):
                        left.append(f"{kind} {name}: {error}")
                else:
                    self._say(f"deleted {kind.rpartition('::')[2].lower()} {name}")
        if left:
            raise StackError("delete these by hand: " + "; ".join(left))


def confirm(stack_name: str, stage: str, answer: Callable[[str], str], force: str) -> None:
    """Raise StackError unless a person types the stack's name and, for prod, also gives FORCE."""
    if stage == "prod" and force != stack_name:
        raise StackError(f"{stack_name} has real money. To delete it, add FORCE={stack_name}")
    if answer(f"Type {stack_name} to delete it: ").strip() != stack_name:
        raise StackError("nothing was deleted")


def main() -> None:
    """Ask for confirmation, then delete the stack for the stage on the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("stage", choices=("dev", "prod"))
    parser.add_argument("--all", action="store_true")
    given = parser.parse_args()
    settings: dict[str, Any] = settings_of(given.stage)
    stack_name = settings["stack_name"]
    if given.all and given.stage == "prod":
        raise StackError("no command deletes the tables and keys of prod")
    teardown = Teardown(stack_name, boto3.Session(region_name=settings.get("region")), print)
    confirm(stack_name, given.stage, input, os.environ.get("FORCE", ""))
    teardown.run(has_all=given.all)
    print(
        f"{stack_name} is deleted."
        if given.all
        else f"{stack_name} is deleted; its tables and keys remain."
    )


if __name__ == "__main__":
    try:
        main()
    except (StackError, BotoCoreError, ClientError, EOFError) as error:
        sys.exit(f"make teardown: {error}")
