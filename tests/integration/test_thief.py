"""Attacker on the deployed stack with the permissions of a function that many users call."""

import json
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import boto3
import httpx
import pytest
from botocore.exceptions import ClientError

from local.seed_keys import seed_keys_of
from local.stack import Stack
from redpacket.packets.clients.sqs_payouts import settle_message
from redpacket.packets.dynamodb import items, keys
from redpacket.packets.model.claim import Share, ShareRef, ShareStatus
from redpacket.packets.split import share_amount_fen
from redpacket.platform.dynamodb.client import create, from_wire, to_wire, values
from redpacket.platform.user import User
from tests.integration.conftest import Eventually, HttpUser, Invoke, MakeUser

CROWD = ("GrabFunction", "LotteryFunction")
DECISIVE = ("PacketsTable", "AccountsTable", "CampaignsTable")
"""Tables that decide about money: packets with their seeds and senders, balances, and budgets."""


@pytest.fixture
def thief(stack: Stack) -> Callable[[str, str], Any]:
    """Return a function that creates a client for an AWS service with a function's role."""

    def with_role_of(function: str, service: str) -> Any:
        functions = stack.aws("lambda")
        role = functions.get_function_configuration(FunctionName=stack.outputs[function])["Role"]
        keys = stack.aws("sts").assume_role(RoleArn=role, RoleSessionName="thief")["Credentials"]
        own = stack.aws(service)
        connect: Any = boto3.client
        return connect(
            service,
            endpoint_url=own.meta.endpoint_url,
            region_name=own.meta.region_name,
            aws_access_key_id=keys["AccessKeyId"],
            aws_secret_access_key=keys["SecretAccessKey"],
            aws_session_token=keys["SessionToken"],
        )

    return with_role_of


def _is_denied(write: Callable[[], object]) -> bool:
    try:
        write()
    except ClientError as error:
        return "AccessDenied" in error.response["Error"]["Code"]
    return False


@pytest.mark.parametrize("function", CROWD)
def test_the_public_functions_cannot_write_rows_that_decide_about_money(
    stack: Stack, thief: Callable[[str, str], Any], function: str
) -> None:
    client = thief(function, "dynamodb")
    row = to_wire({"pk": "packet#forged", "sk": "packet"})
    change: dict[str, Any] = {
        "Key": row,
        "UpdateExpression": "SET sender_id = :thief",
        "ExpressionAttributeValues": values(thief="thief"),
    }
    shares = stack.outputs["SharesTable"]

    for table in (stack.outputs[name] for name in DECISIVE):
        assert _is_denied(partial(client.put_item, TableName=table, Item=row))
        assert _is_denied(partial(client.update_item, TableName=table, **change))
        assert _is_denied(partial(client.delete_item, TableName=table, Key=row))
    assert _is_denied(lambda: client.put_item(TableName=shares, Item=row))
    assert _is_denied(lambda: client.delete_item(TableName=shares, Key=row))


class Shares:
    """SharesTable, which the attacker writes to and the test restores."""

    def __init__(self, stack: Stack, client: Any, dynamodb: Any) -> None:
        self._table = stack.outputs["SharesTable"]
        self._client = client
        self._root = dynamodb
        self._before: list[tuple[dict[str, str], dict[str, Any] | None]] = []

    def forge(self, row: dict[str, Any]) -> None:
        """Write a new row as the attacker."""
        self._remember({"pk": row["pk"], "sk": row["sk"]})
        operation = create(self._table, row)["Update"]
        operation.pop("ReturnValuesOnConditionCheckFailure")
        self._client.update_item(**operation)

    def unsettle(self, share: Share, user_id: str) -> None:
        """Turn another user's settled claim into an unsettled claim of *user_id*."""
        key = keys.share(share.packet_id, share.share_no)
        self._remember(key)
        self._client.update_item(
            TableName=self._table,
            Key=to_wire(key),
            UpdateExpression="SET user_id = :thief REMOVE settled_at_ms",
            ExpressionAttributeValues=values(thief=user_id),
        )

    def restore(self) -> None:
        for key, row in reversed(self._before):
            if row is None:
                self._root.delete_item(TableName=self._table, Key=to_wire(key))
            else:
                self._root.put_item(TableName=self._table, Item=row)
        self._before.clear()

    def keep(self, row: dict[str, Any]) -> None:
        self._root.put_item(TableName=self._table, Item=to_wire(row))

    def read(self, ref: ShareRef) -> Share:
        key = to_wire(keys.share(ref.packet_id, ref.share_no))
        stored = self._root.get_item(TableName=self._table, Key=key, ConsistentRead=True)
        return items.share_of(from_wire(stored["Item"]))

    def _remember(self, key: dict[str, str]) -> None:
        stored = self._root.get_item(TableName=self._table, Key=to_wire(key), ConsistentRead=True)
        self._before.append((key, stored.get("Item")))


@pytest.fixture
def shares(stack: Stack, thief: Callable[[str, str], Any], dynamodb: Any) -> Shares:
    return Shares(stack, thief("GrabFunction", "dynamodb"), dynamodb)


def test_whatever_an_attacker_writes_the_packet_pays_its_own_amounts_and_the_audit_names_each_row(
    stack: Stack,
    dynamodb: Any,
    shares: Shares,
    a_user: MakeUser,
    operator: HttpUser,
    invoke: Invoke,
    eventually: Eventually,
) -> None:
    sender, ann, thief = a_user(funds_fen=1000), a_user(), a_user()
    packet_id = sender.send(total_fen=1000, count=6).json()["packet_id"]
    paid_no = ann.grab(packet_id).json()["share_no"]
    eventually(lambda: ann.grab(packet_id).json()["payout"] == "settled")
    row = dynamodb.get_item(
        TableName=stack.outputs["PacketsTable"], Key=to_wire(keys.packet(packet_id))
    )["Item"]
    packet = items.packet_of(from_wire(row), seed_keys_of(stack))
    paid = shares.read(ShareRef(packet_id, paid_no))

    def forged(share_no: int, **changes: Any) -> Share:
        amount_fen = share_amount_fen(packet.terms, min(share_no, 6))
        claim = Share(
            packet_id, share_no, ShareStatus.CLAIMED, amount_fen, packet.created_at_ms + 1
        )
        return replace(claim, claimer=User(thief.user_id), **changes)

    own = forged(3)
    # The attacker wants a second payment of this claim. On AWS, the policy's dynamodb:Attributes
    # forbids this update. The emulator checks attributes only in projections, so here the receipt
    # of the first payment prevents the second one.
    shares.unsettle(paid, thief.user_id)
    shares.forge(items.share_row(forged(2, amount_fen=900)))  # more than the share's amount
    shares.forge(items.share_row(own))  # a free share, without a claimer's row
    shares.forge(items.share_row(forged(99)))  # a share that does not exist
    shares.forge(items.claimer_row(forged(5), "nobody"))  # a claimer without a share
    named = [paid_no, 2, 3, 99]
    event = {
        "Records": [
            {
                "messageId": str(share_no),
                "body": json.dumps(settle_message(ShareRef(packet_id, share_no), 0)),
            }
            for share_no in named
        ]
    }
    for _ in range(2):
        answer = invoke("PayoutFunction", event)
    audit = operator.http.get(f"/admin/packets/{packet_id}/audit").json()

    refused = {failure["itemIdentifier"] for failure in answer["batchItemFailures"]}
    assert refused == {str(paid_no), "2", "99"}
    assert thief.balance_fen() == own.amount_fen
    assert ann.balance_fen() == paid.amount_fen
    assert audit["ok"] is False
    told = " ".join(difference["what"] for difference in audit["differences"])
    for share_no in (paid_no, 2, 99):
        assert f"share {share_no}" in told or f":{share_no} " in told
    assert f"the taker's row of {thief.user_id}" in told
    assert operator.http.get(f"/admin/packets/{packet_id}/audit").status_code == httpx.codes.OK
    # The attacker owns the free share now; `shares` restores the rest.
    settled = shares.read(own.ref)
    shares.restore()
    row = {**items.share_row(settled), "settled_at_ms": settled.settled_at_ms or 0}
    shares.keep({name: value for name, value in row.items() if not name.startswith("work_")})
    shares.keep(items.claimer_row(own, thief.user_id))
