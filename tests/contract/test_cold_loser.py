"""Imports during the cold start of a refused grab: no heavy modules, and few use cases.

`make bench ONLY=cold` measures the milliseconds; this test names the modules that are not needed.
"""

import json
import os
import subprocess
import sys
import time
from typing import Any

import pytest

from local.packet_ids import PUBLISHED_KEYS
from local.places import ROOT
from local.ports import HOST
from local.seed_keys import PUBLISHED_SEED_KEYS, PUBLISHED_SEEDS
from local.user_ids import PUBLISHED_KEY
from redpacket.operations.model.switches import Switch
from redpacket.operations.ports import SwitchesSeen
from redpacket.operations.redis import keys
from redpacket.operations.redis.switches import RedisSwitches
from redpacket.packets.redis.shards import RedisShards
from testing.builders import a_packet
from testing.in_memory_system import TABLES
from testing.operations.signed_texts import TEXTS
from testing.platform.servers import OperatorCache

GRAB = """
import json, runpy, sys
handler = runpy.run_path("functions/grab/app.py")["handler"]
answer = handler(json.load(sys.stdin), None)
print(json.dumps([answer, sorted(sys.modules)]))
"""

# A refused grab must not import these. asyncio is not listed, because the package redis needs it.
HEAVY = (
    *("boto3", "botocore", "pydantic", "aws_lambda_powertools", "typing_extensions", "zoneinfo"),
    *("regex", "opencc", "pypinyin", "rapidfuzz", "http.client", "redpacket.platform.aws.client"),
    *(
        "redpacket.lottery.model.lottery",
        "redpacket.reconciliation.checks.facts",
        "redpacket.platform.http.bodies",
    ),
    *(
        f"redpacket.{of}.dynamodb"
        for of in ("packets", "campaigns", "lottery", "fairness", "approvals", "payments", "ledger")
    ),
    *("redpacket.packets.clients", "redpacket.packets.pinyin", "redpacket.platform.aws.sqs"),
)
USE_CASES = {
    *(f"redpacket.operations.use_cases{name}" for name in ("", ".cached_switches", ".limit_rate")),
    "redpacket.packets.use_cases",
    *(
        f"redpacket.packets.use_cases.{name}"
        for name in (
            *("cached_emptied", "campaign_quota", "claim_gates", "claim_ports", "claim_share"),
            *("load_packet", "sharded_claims"),
        )
    ),
}
"""Use-case modules that a grab may import."""


def _grab(cache: OperatorCache, packet_id: str) -> tuple[dict[str, Any], list[str]]:
    """Return the answer to a grab in a new process, and the imported modules."""
    event = {
        "routeKey": "POST /packets/{packet_id}/grab",
        "pathParameters": {"packet_id": packet_id},
        "requestContext": {
            "requestId": "request",
            "authorizer": {"jwt": {"claims": {"sub": "late", "nickname": "小明❤️"}}},
        },
    }
    env = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": "shared",
        "CACHE_URL": f"redis://{HOST}:{cache.connection_pool.connection_kwargs['port']}",
        "TABLES": TABLES,
        "PAYOUT_QUEUE_URL": "https://queue.example",
        "PACKET_ID_KEYS": PUBLISHED_KEYS,
        "USER_ID_KEY": PUBLISHED_KEY,
        "SEED_KEYS": PUBLISHED_SEED_KEYS,
        "POWERTOOLS_SERVICE_NAME": "grab",
    }
    done = subprocess.run(
        [sys.executable, "-c", GRAB],
        input=json.dumps(event),
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
        env=env,
    )
    answer, imported = json.loads(done.stdout.splitlines()[-1])
    return answer, imported


@pytest.mark.parametrize(
    ("off", "code"),
    [
        (frozenset[Switch](), "packet_emptied"),
        (frozenset({Switch.SEND, Switch.PAYOUT}), "packet_emptied"),
        (frozenset({Switch.GRAB}), "switched_off"),
    ],
    ids=["all on", "others off", "grabs off"],
)
def test_a_cold_loser_imports_only_what_losing_needs(
    cache: OperatorCache, off: frozenset[Switch], code: str
) -> None:
    claim_cache = RedisShards(cache, PUBLISHED_SEEDS)
    packet = a_packet(100, 1, created_at_ms=int(time.time() * 1000) - 1000)
    claim_cache.load(packet, [], is_new=True)
    claim_cache.grab(packet.packet_id, "early")
    RedisSwitches(cache, TEXTS).keep(SwitchesSeen(off), 60_000)

    answer, imported = _grab(cache, packet.packet_id)

    assert json.loads(answer["body"])["code"] == code
    assert answer["headers"].get("retry-after") == ("10" if code == "switched_off" else None)
    assert not [name for name in imported if f"{name}.".startswith(_dotted(HEAVY))]
    assert {name for name in imported if ".use_cases" in name} <= USE_CASES
    assert cache.exists(keys.SWITCH_COPY)


def _dotted(names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(f"{name}." for name in names)
