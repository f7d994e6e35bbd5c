"""Time limit of a request: it ends in time even if none of its calls is answered."""

import json
import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from dataclasses import asdict
from functools import partial
from math import inf
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic
from typing import Any

import pytest

from local.gateways.wechat.wire import GatewayKeys
from local.packet_ids import PUBLISHED_IDS, PUBLISHED_KEYS
from local.places import ROOT
from local.ports import HOST
from local.seed_keys import PUBLISHED_SEED_KEYS
from local.user_ids import PUBLISHED_KEY
from redpacket.containers.platform import Platform
from redpacket.payments.ports import CALL_MS_MAX
from redpacket.payments.providers.wechat.client import WeChatClient, WeChatMerchant
from redpacket.platform.aws.errors import translated
from redpacket.platform.errors import Unavailable
from redpacket.platform.redis.connect import Cache
from redpacket.platform.settings import Settings
from redpacket.platform.ssrf_safe_http import HttpClient
from redpacket.platform.time_budget import time_budget
from testing.in_memory_system import VARIABLES

ANSWER_S_MAX = 9.5
"""Maximum seconds to answer. The other 0.5 of ten seconds are for a cold start and the network."""

ASK = """
import json, runpy, sys, time
handler = runpy.run_path(sys.argv[1])["handler"]
began_s = time.monotonic()
answer = handler(json.load(sys.stdin), None)
print(json.dumps([answer["statusCode"], time.monotonic() - began_s]))
"""


Call = Callable[[], object]


@pytest.fixture
def hole() -> Iterator[str]:
    """Yield the address of a server that accepts connections and never answers."""
    with closing(socket.create_server((HOST, 0), backlog=64)) as server:
        yield f"{HOST}:{server.getsockname()[1]}"


REQUESTS: dict[str, tuple[str, dict[str, Any] | None]] = {
    "profile": ("GET /me", None),
    "records": ("GET /packets/{packet_id}", None),
    "grab": ("POST /packets/{packet_id}/grab", None),
    "send": ("POST /packets", {"kind": "lucky", "total_fen": 100, "count": 1}),
    "payment": ("GET /me/withdrawals", None),
}
"""Route and body of the request for each of these functions."""


def _ask(hole: str, function: str) -> tuple[int, float]:
    """Call a function in a new process; return its status and its duration in seconds."""
    route, body = REQUESTS[function]
    event = {
        "routeKey": route,
        "pathParameters": {"packet_id": PUBLISHED_IDS.sign("A" * 22)},
        "headers": {"Idempotency-Key": "once"},
        "body": json.dumps(body) if body else "",
        "requestContext": {"requestId": "r", "authorizer": {"jwt": {"claims": {"sub": "alice"}}}},
    }
    env = {
        **_variables(hole),
        "PATH": os.environ["PATH"],
        "PYTHONPATH": "shared",
        "POWERTOOLS_SERVICE_NAME": function,
    }
    done = subprocess.run(
        [sys.executable, "-c", ASK, f"functions/{function}/app.py"],
        input=json.dumps(event),
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
        env=env,
    )
    status, took_s = json.loads(done.stdout.splitlines()[-1])
    return status, took_s


def test_a_request_ends_in_time_if_cache_and_ledger_hang(hole: str) -> None:
    # The calls only wait, so they run concurrently.
    with ThreadPoolExecutor(len(REQUESTS)) as pool:
        answers = dict(zip(REQUESTS, pool.map(partial(_ask, hole), REQUESTS), strict=True))

    assert {status for status, _ in answers.values()} == {503}
    assert max(took_s for _, took_s in answers.values()) < ANSWER_S_MAX, answers


def _light(hole: str) -> Call:
    return partial(_platform(hole).dynamo.get, "packets", {"pk": "a"})


def _botocore(hole: str) -> Call:
    store = _platform(hole).aws("s3")

    def call() -> None:
        with translated("the store"):
            store.get_object(Bucket="pictures", Key="a")

    return call


def _cache(hole: str) -> Call:
    cache = Cache(_platform(hole).cache_client)

    def call() -> None:
        for _ in range(3):
            with suppress(Unavailable):
                cache.ask("GET", "a")
        cache.ask("GET", "a")

    return call


def _http(hole: str) -> Call:
    client = HttpClient(f"http://{hole}", call_ms_max=CALL_MS_MAX, allows_private=True)
    return partial(client.get, "")


def _wechat(hole: str) -> Call:
    with TemporaryDirectory() as folder:
        merchant = WeChatMerchant(**asdict(GatewayKeys.of(Path(folder)).merchant))
    client = WeChatClient(merchant, gateway_url=f"http://{hole}", call_ms_max=CALL_MS_MAX)
    return partial(client.get, "/v3/a")


def _variables(hole: str) -> dict[str, str]:
    return {
        **VARIABLES,
        "CACHE_URL": f"redis://{hole}",
        "AWS_ENDPOINT_URL": f"http://{hole}",
        "AWS_REGION": "us-east-1",
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "PAYOUT_QUEUE_URL": f"http://{hole}/queue",
        "PACKET_ID_KEYS": PUBLISHED_KEYS,
        "USER_ID_KEY": PUBLISHED_KEY,
        "SEED_KEYS": PUBLISHED_SEED_KEYS,
        "SHARE_BASE_URL": "https://api.example",
        "SHARE_FEN_MAX": "20000",
    }


def _platform(hole: str) -> Platform:
    class Given(Platform):
        settings = Settings(_variables(hole))

    return Given()


@pytest.mark.parametrize("prepare", [_light, _botocore, _cache, _http, _wechat])
def test_every_client_stops_with_the_request(
    hole: str, prepare: Callable[[str], Call], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in _variables(hole).items():
        if name.startswith("AWS_"):
            monkeypatch.setenv(name, value)  # botocore does not read our settings.
    call = prepare(hole)
    time_budget.begin(0.5)
    began_s = monotonic()
    try:
        with pytest.raises(Unavailable):
            call()
    finally:
        time_budget.begin(inf)
    assert monotonic() - began_s < 2
