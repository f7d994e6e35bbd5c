"""Functions that start from a snapshot: preparation, and credentials after the restore."""

import json
import random
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from redis.exceptions import ConnectionError as NoConnection

from local.ports import HOST
from redpacket.platform import snapstart
from redpacket.platform.aws.container_keys import ContainerKeys
from redpacket.platform.aws.errors import AwsSilent
from redpacket.platform.aws.signature import Keys
from redpacket.platform.redis.passwords import token_maker
from redpacket.platform.settings import Settings
from testing.platform.handlers import handlers

NOW_S = 1_800_000_000
"""2027-01-15T08:00:00Z"""


class Endpoint:
    """Credentials endpoint: *answers* are its responses, and the last one repeats."""

    def __init__(self) -> None:
        self.answers: list[tuple[int, Any]] = []
        self.requests: list[tuple[str, str]] = []
        self.url = ""

    def give(self, key: str, ends: str) -> None:
        given = {"AccessKeyId": key, "SecretAccessKey": "s", "Token": "t", "Expiration": ends}
        self.answers.append((200, given))

    def next(self, path: str, token: str) -> tuple[int, Any]:
        self.requests.append((path, token))
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    made = Endpoint()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, body = made.next(self.path, self.headers["Authorization"])
            self.send_response(status)
            self.end_headers()
            self.wfile.write(body if isinstance(body, bytes) else json.dumps(body).encode())

        def log_message(self, *_: object) -> None:
            """Suppress the server's log lines."""

    with ThreadingHTTPServer((HOST, 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        made.url = f"http://{HOST}:{server.server_port}/v1/credentials?id=1"
        yield made
        server.shutdown()


def test_credentials_are_renewed_five_minutes_before_they_expire(endpoint: Endpoint) -> None:
    now_s = NOW_S
    keys = ContainerKeys(lambda: (endpoint.url, "token"), lambda: now_s)
    endpoint.give("first", "2027-01-15T08:30:00Z")
    endpoint.give("second", "2027-01-15T09:00:00Z")

    assert keys() == Keys("first", "s", "t")
    now_s += 25 * 60 - 1
    assert keys().access_key == "first"
    now_s += 1
    assert keys().access_key == "second"
    assert endpoint.requests == [("/v1/credentials?id=1", "token")] * 2


@pytest.mark.parametrize("answer", [(500, b""), (200, b"no JSON")])
def test_missing_credentials_make_the_service_unavailable(
    endpoint: Endpoint, answer: tuple[int, bytes]
) -> None:
    keys = ContainerKeys(lambda: (endpoint.url, "token"))
    endpoint.answers = [answer]

    with pytest.raises(AwsSilent):
        keys()
    with pytest.raises(NoConnection):
        token_maker("replicationgroup:name", "user", "us-east-1", keys)()


def test_a_service_without_an_endpoint_of_credentials_is_unavailable() -> None:
    with pytest.raises(AwsSilent):
        ContainerKeys(lambda: (f"http://{HOST}:1/", "token"))()


def test_only_a_process_that_becomes_a_snapshot_is_prepared(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    hooks: list[Any] = []
    module = ModuleType("snapshot_restore_py")
    monkeypatch.setattr(module, "register_after_restore", hooks.append, raising=False)
    monkeypatch.setitem(sys.modules, "snapshot_restore_py", module)
    built: list[str] = []

    for kind in ("on-demand", "snap-start"):
        variables = {"AWS_LAMBDA_INITIALIZATION_TYPE": kind}
        monkeypatch.setattr(snapstart, "settings", Settings(variables))
        snapstart.before_snapshot("campaigns", build=lambda: built.append("built"))

    assert built == ["built"]
    assert hooks == [random.seed]
    assert "redpacket.lottery.use_cases.edit_campaign" in sys.modules


@pytest.mark.parametrize("name", ["send", "grab", "lottery"])
def test_a_daily_call_keeps_a_snapshot_and_does_nothing_else(name: str) -> None:
    context: Any = SimpleNamespace(get_remaining_time_in_millis=lambda: 1_000)
    handler = handlers()[name]

    assert handler({"source": "aws.events", "detail-type": "Scheduled Event"}, context) == {}
    with pytest.raises(KeyError):
        handler({"packet_id": "an event of no kind"}, context)
