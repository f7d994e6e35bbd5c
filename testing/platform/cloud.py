"""AWS emulator and cache with the template's tables, without functions; tests add queues."""

import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from local.ports import is_open
from local.stack import REGION, START_TIMEOUT_S, Stack
from local.template import read_template
from redpacket.platform.settings import Tables

TABLES = {name: f"{name.title()}Table" for name in Tables._fields}
"""Names of the template's resources, keyed by the tables' short names."""

SCHEMA = {"BillingMode", "AttributeDefinitions", "KeySchema", "GlobalSecondaryIndexes"}
RECEIVES_MAX = 5
"""Receives before a message goes to the DLQ, as in the template."""


def make_tables(dynamodb: Any) -> None:
    """Create the template's tables, without properties that only a deployment resolves."""
    resources = read_template()["Resources"]
    for name, resource in TABLES.items():
        properties = resources[resource]["Properties"]
        schema = {key: value for key, value in properties.items() if key in SCHEMA}
        if indexes := schema.get("GlobalSecondaryIndexes"):
            schema["GlobalSecondaryIndexes"] = [
                {key: value for key, value in index.items() if key != "WarmThroughput"}
                for index in indexes
            ]
        dynamodb.create_table(TableName=name, **schema)


def tables_of(stack: Stack) -> Tables:
    """Return the names that the tables of a deployed stack have."""
    return Tables(**{name: stack.outputs[resource] for name, resource in TABLES.items()})


class Cloud(Stack):
    """Stack without functions, which starts in two seconds."""

    def start(self) -> None:
        self._take_state_dir()
        cache, emulator = self._start_cache(), self._start_emulator()
        cache.wait_until(lambda: is_open(self.ports.cache), timeout_s=START_TIMEOUT_S)
        emulator.wait_until(self._is_emulator_ready, timeout_s=START_TIMEOUT_S)
        self._start_conflicts()
        dynamodb: Any = self.aws("dynamodb")
        make_tables(dynamodb)

    def make_queues(self, name: str, visibility_timeout_s: int) -> tuple[str, str]:
        """Create a queue and its DLQ, and return their URLs."""
        sqs: Any = self.aws("sqs")
        dlq_url = str(sqs.create_queue(QueueName=f"{name}-dlq")["QueueUrl"])
        attributes = sqs.get_queue_attributes(QueueUrl=dlq_url, AttributeNames=["QueueArn"])
        redrive = {
            "deadLetterTargetArn": attributes["Attributes"]["QueueArn"],
            "maxReceiveCount": RECEIVES_MAX,
        }
        queue_url = sqs.create_queue(
            QueueName=name,
            Attributes={
                "VisibilityTimeout": str(visibility_timeout_s),
                "RedrivePolicy": json.dumps(redrive),
            },
        )["QueueUrl"]
        return str(queue_url), dlq_url

    def environment(self) -> dict[str, str]:
        """Return the environment variables with which another process finds this stack."""
        return {
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{self.aws_port}",
            "AWS_DEFAULT_REGION": REGION,
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test",
        }


HOLD_MS = (20, 80)
"""Milliseconds for which transactions hold their items in suites, as large ones do on AWS."""


@contextmanager
def a_cloud(hold_ms: tuple[int, int] | None = None) -> Iterator[Cloud]:
    with (
        tempfile.TemporaryDirectory(prefix="redpacket-") as folder,
        Cloud(Path(folder), hold_ms=hold_ms) as cloud,
    ):
        yield cloud
