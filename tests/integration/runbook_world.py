"""Stack for injecting the runbook's faults, and the results that each page must show."""

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import redis

from local.client import NO_TLS
from local.stack import Stack
from redpacket.packets.dynamodb import keys
from redpacket.platform.dynamodb.client import to_wire, values
from tests.integration.conftest import Eventually, HttpUser, Interruption, Invoke, MakeUser


@dataclass(frozen=True, slots=True)
class Fault:
    """Injected fault, and the output that the commands of the fault's page must show."""

    values: Mapping[str, str] = field(default_factory=dict)
    """Values that replace the page's examples, keyed by variable."""
    signs: Mapping[str, str] = field(default_factory=dict)
    """Space-separated texts that commands must print, keyed by a part of the command line."""
    failing: str = ""
    """Comma-separated parts of the command lines that must exit with a nonzero code."""
    repaired: str = ""
    """Shell command that repairs the other party's system. It runs after the page's checks and
    before its steps.
    """


@dataclass(frozen=True, slots=True)
class World:
    """Stack, with the users and tools that inject faults into it."""

    stack: Stack
    folder: Path
    cache: redis.Redis
    frozen_cache: Interruption
    paused_payouts: Interruption
    a_user: MakeUser
    operator: HttpUser
    invoke: Invoke
    eventually: Eventually

    def own_aws(self) -> dict[str, str]:
        """Return the AWS CLI's variables, which readers of the runbook's index export."""
        return {
            "AWS_ENDPOINT_URL": str(self.stack.description()["emulator"]),
            "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test",
        }

    def let(self, provider: str, mode: str) -> None:
        """Set the mode of a payment provider."""
        self.control(provider, "mode", mode=mode)

    def control(self, provider: str, name: str, **body: Any) -> dict[str, Any]:
        """Call a control of a simulated payment provider."""
        url = f"{self.provider(provider)}/_fake/{name}"
        done = httpx.post(url, json=body, trust_env=False, verify=NO_TLS)
        return dict(done.raise_for_status().json())

    def repair(self, provider: str) -> str:
        """Return the shell command that makes a simulated payment provider work again."""
        return f"""curl -sS -d '{{"mode": "ok"}}' {self.provider(provider)}/_fake/mode"""

    def provider(self, name: str) -> str:
        """Return the address of a payment provider."""
        return {"wechat": self.stack.gateway, "host": self.stack.wallet}[name]

    def wait_for_log(self, logs: str, text: str) -> None:
        """Wait until a log contains *text*. The emulator writes functions' logs with a delay."""
        client: Any = self.stack.aws("logs")
        group = self.resource(logs)
        pages = client.get_paginator("filter_log_events")
        self.eventually(
            lambda: any(
                text in event["message"]
                for page in pages.paginate(logGroupName=group)
                for event in page["events"]
            )
        )

    @contextmanager
    def keeper(self) -> Iterator[None]:
        """Restart the stack's cache whenever it exits, as `make up` does."""
        is_over = threading.Event()

        def keep() -> None:
            while not is_over.wait(0.2):
                assert self.stack.ended() is None

        keeping = threading.Thread(target=keep)
        keeping.start()
        try:
            yield
        finally:
            is_over.set()
            keeping.join()

    def write_share(self, packet_id: str, share_no: int, *, amount_fen: int) -> None:
        """Change the amount of a claim, which no function's code ever does."""
        self.stack.aws("dynamodb").update_item(
            TableName=self.stack.outputs["SharesTable"],
            Key=to_wire(keys.share(packet_id, share_no)),
            UpdateExpression="SET amount_fen = :wrong",
            ExpressionAttributeValues=values(wrong=amount_fen),
        )

    @contextmanager
    def without_terms(self, packet_id: str) -> Iterator[None]:
        """Make a packet's row unreadable inside the `with` block."""
        dynamodb, table = self.stack.aws("dynamodb"), self.stack.outputs["PacketsTable"]
        key = to_wire(keys.packet(packet_id))
        whole = dynamodb.get_item(TableName=table, Key=key)["Item"]
        dynamodb.put_item(TableName=table, Item={**whole, "terms": {"S": "nonsense"}})
        yield
        dynamodb.put_item(TableName=table, Item=whole)

    def disable_rules(self) -> None:
        """Disable all schedules; the commands of some pages enable them."""
        schedules = self.stack.aws("events")
        for rule in schedules.list_rules()["Rules"]:
            schedules.disable_rule(Name=rule["Name"])

    def alter_journal(self) -> str:
        """Change a row of the audit log and change it back; return the row's sort key."""
        dynamodb, table = self.stack.aws("dynamodb"), self.stack.outputs["JournalTable"]
        (row,) = dynamodb.scan(TableName=table, Limit=1)["Items"]
        dynamodb.put_item(TableName=table, Item={**row, "altered": {"S": "x"}})
        dynamodb.put_item(TableName=table, Item=row)
        return str(row["sk"]["S"])

    def resource(self, logical_id: str) -> str:
        described = self.stack.aws("cloudformation").describe_stack_resource(
            StackName="redpacket-local", LogicalResourceId=logical_id
        )
        return str(described["StackResourceDetail"]["PhysicalResourceId"])
