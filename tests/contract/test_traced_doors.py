"""Real doors in the environment of Lambda, and what the X-Ray daemon beside them receives."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from local.packet_ids import PUBLISHED_KEYS
from local.places import ROOT
from local.ports import HOST
from local.seed_keys import PUBLISHED_SEED_KEYS
from local.user_ids import PUBLISHED_KEY
from testing.aws_stub import AwsStub, Call, Says, an_aws_stub
from testing.builders import a_packet
from testing.servers import OperatorCache
from testing.xray_daemon import Document, an_xray_daemon

TRACE = {"root": "1-6b033d0e-dd972f7a1de3b0b0ba955bf4", "parent": "8a671825983c03b5"}
SAMPLED = f"Root={TRACE['root']};Parent={TRACE['parent']};Sampled=1"

NOTHING: dict[str, Any] = {"Responses": {}, "UnprocessedKeys": {}}
"""What a table answers that is empty."""

LAMBDA = """
import json, sys
from redpacket.edge.traced_door import handler
for event in json.load(sys.stdin):
    print("answer", json.dumps(handler(event, None)))
"""


def _run(
    door: Path, environment: dict[str, str], *events: dict[str, Any], before: str = ""
) -> list[Any]:
    """Return what *door* answers, in a process as Lambda makes it."""
    done = subprocess.run(
        [sys.executable, "-c", LAMBDA],
        input=json.dumps(events),
        capture_output=True,
        text=True,
        check=False,
        env={
            "PATH": os.environ["PATH"],
            "PYTHONPATH": os.pathsep.join(filter(None, [before, str(ROOT / "shared"), str(door)])),
            "LAMBDA_TASK_ROOT": str(door),
            "AWS_XRAY_DAEMON_ADDRESS": f"{HOST}:2000",
            "_X_AMZN_TRACE_ID": SAMPLED,
            **environment,
        },
    )
    assert done.returncode == 0, done.stderr
    assert not done.stderr
    lines = [line.partition(" ") for line in done.stdout.splitlines()]
    return [json.loads(answer) for name, _, answer in lines if name == "answer"]


def _environment(door: str, aws: AwsStub, cache: OperatorCache) -> dict[str, str]:
    tables = (
        *("PACKETS", "SHARES", "ACCOUNTS", "PROFILES", "SWITCHES", "CAMPAIGNS", "PAYMENTS"),
        *("DRAWS", "JOURNAL", "APPROVALS", "QUOTAS"),
    )
    return {
        **{f"{name}_TABLE": name.lower() for name in tables},
        "AWS_ENDPOINT_URL": aws.url,
        "AWS_REGION": "us-east-1",
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "CACHE_ENDPOINT": f"{HOST}:{cache.connection_pool.connection_kwargs['port']}",
        "CACHE_TLS": "false",
        "CACHE_CLUSTER": "false",
        "PACKET_ID_KEYS": PUBLISHED_KEYS,
        "USER_ID_KEY": PUBLISHED_KEY,
        "SEED_KEYS": PUBLISHED_SEED_KEYS,
        "READS_PER_MINUTE": "600",
        "READ_BURST": "200",
        "PAYOUT_QUEUE_URL": "https://queue.example/payouts",
        "SETTLEMENT_RECEIPTS": "true",
        "POWERTOOLS_SERVICE_NAME": door,
        "POWERTOOLS_METRICS_NAMESPACE": "redpacket",
    }


def _request(route: str, request_id: str, **more: Any) -> dict[str, Any]:
    claims = {"sub": "zoe-2718", "nickname": "Zoe of the hill"}
    return {
        "routeKey": route,
        "requestContext": {"requestId": request_id, "authorizer": {"jwt": {"claims": claims}}},
        **more,
    }


def _of_request(documents: list[Document], request_id: str) -> tuple[Document, list[Document]]:
    (request,) = [
        one for one in documents if one.get("annotations", {}).get("request_id") == request_id
    ]
    return request, [one for one in documents if one["parent_id"] == request["id"]]


def test_a_users_request_is_found_by_its_id_with_its_calls_and_without_its_user(
    cache: OperatorCache,
) -> None:
    def answer(call: Call) -> dict[str, Any]:
        return {"Item": {"balance_fen": {"N": "31415926"}}} if call.target == "GetItem" else NOTHING

    with an_xray_daemon() as daemon, an_aws_stub(Says(500), answer=answer) as aws:
        environment = _environment("profile", aws, cache)
        read, refused = _run(
            ROOT / "functions" / "profile",
            {**environment, "AWS_XRAY_DAEMON_ADDRESS": daemon.address},
            _request("GET /me", "the-first="),
            _request("PUT /me", "the-second=", body='{"nickname": 7, "wish": "a horse"}'),
        )
        documents = daemon.received()

    first, calls = _of_request(documents, read["headers"]["x-request-id"])
    assert (first["name"], first["annotations"]["status"]) == ("GET /me", 200)
    assert first["trace_id"] == TRACE["root"]
    assert first["parent_id"] == TRACE["parent"]
    tables = {one["aws"]["table_name"] for one in calls if one["name"] == "dynamodb"}
    assert tables >= {"accounts", "profiles"}
    assert sum(one["aws"]["retries"] for one in calls) == 1
    assert [one for one in calls if one["name"] == "cache"]
    second, _ = _of_request(documents, "the-second=")
    assert second["annotations"]["code"] == json.loads(refused["body"])["code"]
    for secret in ("zoe", "hill", "31415926", "horse", "test"):
        assert secret not in json.dumps(documents).lower()


def test_a_payout_is_found_by_the_request_that_claimed(cache: OperatorCache) -> None:
    packet_id = a_packet().packet_id
    claims: list[dict[str, Any]] = [
        {
            "kind": "settle_claim",
            "version": 1,
            "body": {"packet_id": packet_id, "share_no": share_no},
            "taker": {"host_id": "zoe@host", "nickname": "Zoe"},
            "request_id": f"grab-{share_no}=",
        }
        for share_no in (1, 2)
    ]
    records = [
        {"messageId": f"m{number}", "body": json.dumps(claim)}
        for number, claim in enumerate(claims)
    ]

    with an_xray_daemon() as daemon, an_aws_stub(answer=lambda _: NOTHING) as aws:
        environment = _environment("payout", aws, cache)
        (answer,) = _run(
            ROOT / "functions" / "payout",
            {**environment, "AWS_XRAY_DAEMON_ADDRESS": daemon.address},
            {"Records": records},
        )
        documents = daemon.received()

    (batch,) = [one for one in documents if one["name"] == "payout"]
    for claim in claims:
        message, _ = _of_request(documents, claim["request_id"])
        assert message["parent_id"] == batch["id"]
        assert message.get("fault", False) == bool(answer["batchItemFailures"])
    calls = [one for one in documents if one["parent_id"] == batch["id"] and "aws" in one]
    assert {one["aws"]["table_name"] for one in calls} >= {"switches", "packets"}
    assert "zoe" not in json.dumps(documents).lower()


BROKEN = "raise RuntimeError('a broken release')"


@pytest.mark.parametrize(
    ("environment", "files"),
    [
        pytest.param({"AWS_XRAY_DAEMON_ADDRESS": "192.0.2.1:2000"}, {}, id="nobody listens"),
        pytest.param({"AWS_XRAY_DAEMON_ADDRESS": "daemon.invalid:2000"}, {}, id="a name"),
        pytest.param({"AWS_XRAY_DAEMON_ADDRESS": "garbage"}, {}, id="no address"),
        pytest.param({"_X_AMZN_TRACE_ID": "garbage"}, {}, id="no trace"),
        pytest.param({"POWERTOOLS_TRACE_DISABLED": "true"}, {}, id="switched off by hand"),
        pytest.param({}, {"aws_xray_sdk/__init__.py": BROKEN}, id="a broken library"),
    ],
)
def test_a_door_answers_whatever_becomes_of_its_trace(
    environment: dict[str, str], files: dict[str, str], tmp_path: Path
) -> None:
    door = """
from redpacket.ports import runtime
def handler(event, context):
    with runtime.spans.remote("cache", "GET"):
        return {"statusCode": 200, "body": "{}"}
"""
    for name, text in {"app.py": door, **files}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)

    answers = _run(tmp_path, environment, *[_request("GET /me", "a")] * 2, before=str(tmp_path))

    assert answers == [{"statusCode": 200, "body": "{}"}] * 2


@pytest.mark.parametrize("door", ["grab", "lottery", "records"])
def test_the_crowds_doors_import_nothing_of_traces(door: str) -> None:
    code = "import app, json, sys; print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT / "functions" / door,
        env={"PYTHONPATH": str(ROOT / "shared"), "LAMBDA_TASK_ROOT": "/var/task"},
    )

    imported = {name.split(".")[0] for name in json.loads(done.stdout)}
    assert not imported & {"aws_xray_sdk", "wrapt", "botocore", "aws_lambda_powertools"}
    assert "redpacket.edge.traces" not in json.loads(done.stdout)
