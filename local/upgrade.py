"""Check of `make deploy` that the deployed stack survives the upgrade.

Campaigns of earlier releases could draw with a public beacon, and this release has none
(docs/adr/0032). Therefore the upgrade waits until those campaigns have ended.
"""

import time
from typing import TYPE_CHECKING

import boto3
from botocore.exceptions import BotoCoreError, ClientError

from local.errors import StackError
from redpacket.campaigns.dynamodb.keys import campaign
from redpacket.platform.dynamodb.client import Dynamo, values
from redpacket.platform.errors import Unavailable
from redpacket.platform.settings import Tables

if TYPE_CHECKING:
    from mypy_boto3_cloudformation import CloudFormationClient
    from mypy_boto3_dynamodb import DynamoDBClient


def check_upgrade(stack_name: str, region: str | None) -> None:
    """Raise StackError if the deployed stack does not survive this release, or can't be read."""
    session = boto3.Session(region_name=region)
    now_ms = time.time_ns() // 1_000_000
    try:
        outputs = _outputs(stack_name, session.client("cloudformation"))
        check_beacons(outputs, session.client("dynamodb"), now_ms)
    except (BotoCoreError, ClientError, Unavailable) as error:
        raise StackError(f"the deployed stack can't be read: {error}") from error


def _outputs(stack_name: str, cloud: "CloudFormationClient") -> dict[str, str]:
    try:
        (stack,) = cloud.describe_stacks(StackName=stack_name)["Stacks"]
    except ClientError as error:
        if "does not exist" in str(error):
            return {}  # the first deployment
        raise
    return {each["OutputKey"]: each["OutputValue"] for each in stack.get("Outputs", [])}


def check_beacons(outputs: dict[str, str], client: "DynamoDBClient", now_ms: int) -> None:
    """Raise StackError if a campaign with a beacon has not ended."""
    if "TransparencyTable" not in outputs:
        return
    tables = Tables(*(outputs.get(f"{name.capitalize()}Table", "") for name in Tables._fields))
    running = _running(Dynamo(lambda: client, tables), now_ms)
    if running:
        raise StackError(
            "this release has no public beacon, and these campaigns draw by one: "
            f"{', '.join(running)}. Deploy after they have ended, or end them"
        )


def _running(dynamo: Dynamo, now_ms: int) -> list[str]:
    """Return the ids of campaigns with a beacon that have not ended."""
    noted = dynamo.query(
        dynamo.tables.transparency,
        KeyConditionExpression="pk = :pk AND sk >= :now",
        ExpressionAttributeValues=values(pk="drawing", now=f"{now_ms:013d}"),
        ProjectionExpression="sk",
        ConsistentRead=True,
    )
    # A later edit may have moved the end in such a row, so the campaign's own row decides.
    ids = sorted({str(row["sk"]).partition("#")[2] for row in noted})
    return [each for each in ids if _ends_at_ms(dynamo, each) > now_ms]


def _ends_at_ms(dynamo: Dynamo, campaign_id: str) -> int:
    rows = dynamo.query(
        dynamo.tables.campaigns,
        KeyConditionExpression="pk = :pk AND sk = :sk",
        ExpressionAttributeValues=values(**campaign(campaign_id)),
        ProjectionExpression="ends_at_ms",  # The role that plans may read only this.
        ConsistentRead=True,
    )
    return int(str(next(rows)["ends_at_ms"]))
