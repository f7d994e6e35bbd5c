"""Sign-in of the functions to a cache: by IAM, or with a password that its owner stores."""

import socket
import time
from collections.abc import Callable
from contextlib import suppress
from threading import Thread
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest
from botocore.credentials import Credentials
from botocore.hooks import HierarchicalEmitter
from botocore.model import ServiceId
from botocore.signers import RequestSigner
from redis.exceptions import ConnectionError as NoConnection

from local.ports import HOST
from redpacket.platform.aws.cache_token import cache_token
from redpacket.platform.aws.errors import AwsRefused, AwsSilent
from redpacket.platform.aws.signature import Keys
from redpacket.platform.errors import InvariantViolated
from redpacket.platform.redis.connect import connect
from redpacket.platform.redis.passwords import CacheSecret

SECRET_KEY = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"


# ---- by IAM


def _botocores(cache: str, query: dict[str, str], region: str, keys: Keys) -> str:
    """Sign as in ElastiCache's developer guide."""
    credentials = Credentials(keys.access_key, keys.secret_key, keys.token or None)
    emitter = HierarchicalEmitter()
    signer = RequestSigner(
        ServiceId("elasticache"), region, "elasticache", "v4", credentials, emitter
    )
    query_text = "&".join(f"{name}={value}" for name, value in query.items())
    request = {
        "method": "GET",
        "url": f"http://{cache}/?{query_text}",
        "body": {},
        "headers": {},
        "context": {},
    }
    url: str = signer.generate_presigned_url(
        request, operation_name="connect", expires_in=900, region_name=region
    )
    return url.removeprefix("http://")


@pytest.mark.parametrize("token", ["", "IQoJb3JpZ2lu+session/token=="])
@pytest.mark.parametrize(
    ("resource", "region", "more"),
    [
        ("replicationgroup:redpacket-1abc", "us-east-1", {}),
        ("serverlesscache:rush", "cn-north-1", {"ResourceType": "ServerlessCache"}),
    ],
)
def test_a_token_is_the_presigned_request_of_botocore(
    monkeypatch: pytest.MonkeyPatch, resource: str, region: str, more: dict[str, str], token: str
) -> None:
    keys = Keys("AKIDEXAMPLE", SECRET_KEY, token)
    name = resource.partition(":")[2]
    query = {"Action": "connect", "User": "redpacket-functions", **more}
    botocores = _parts(_botocores(name, query, region, keys))
    moment = time.strptime(botocores["X-Amz-Date"], "%Y%m%dT%H%M%SZ")
    monkeypatch.setattr("time.gmtime", lambda *_: moment)

    ours = cache_token(resource, "redpacket-functions", region, keys)

    assert _parts(ours) == botocores
    assert botocores["X-Amz-Expires"] == "900"


def _parts(url: str) -> dict[str, str]:
    split = urlsplit(f"//{url}")
    return {"host": split.netloc, "path": split.path, **dict(parse_qsl(split.query))}


class _OldServer:
    """Server that answers each HELLO with *answer*, and stores the commands."""

    def __init__(self, answer: bytes) -> None:
        self._answer = answer
        self.told: list[bytes] = []
        self._socket = socket.create_server((HOST, 0))
        self.port: int = self._socket.getsockname()[1]
        Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        with suppress(OSError):
            while True:
                accepted, _ = self._socket.accept()
                with accepted:
                    self.told.append(accepted.recv(1000))
                    accepted.sendall(self._answer)

    def close(self) -> None:
        self._socket.close()


def _told(password: str | Callable[[], str], username: str, answer: bytes) -> tuple[str, list[str]]:
    """Return the refusal that two connections get, and the commands that the server received."""
    server = _OldServer(answer)
    client = connect(
        HOST, server.port, has_tls=False, username=username, password=password, timeout_s=2
    )
    refusals = set()
    for _ in range(2):
        with pytest.raises(InvariantViolated) as refused:
            client.ask("GET", "rp:x")
        refusals.add(str(refused.value))
    server.close()
    (refusal,) = refusals
    return refusal, [" ".join(told.decode().split("\r\n")[2::2]) for told in server.told]


OLD = b"*4\r\n$6\r\nserver\r\n$5\r\nredis\r\n$7\r\nversion\r\n$5\r\n6.2.5\r\n"


def test_every_connection_signs_in_with_a_new_password() -> None:
    passwords = iter(["first", "second"])

    _, told = _told(lambda: next(passwords), "functions", OLD)

    assert told == ["HELLO 2 AUTH functions first", "HELLO 2 AUTH functions second"]


@pytest.mark.parametrize(("password", "words"), [("word", " AUTH default word"), ("", "")])
def test_a_cache_without_users_gets_only_a_password(password: str, words: str) -> None:
    _, told = _told(password, "", OLD)

    assert told == [f"HELLO 2{words}"] * 2


@pytest.mark.parametrize(
    ("answer", "version"), [(OLD, "6.2.5"), (b"-ERR unknown command `HELLO`\r\n", "5")]
)
def test_a_server_that_runs_no_script_is_refused_at_once(answer: bytes, version: str) -> None:
    refusal, _ = _told("", "", answer)

    assert refusal == f"the cache is version {version}; it must be Redis 7.0, Valkey or newer"


# ---- with a stored password


class _Store:
    """Stand-in for Secrets Manager; *answers* are passwords and errors."""

    def __init__(self, *answers: str | Exception) -> None:
        self.answers = list(answers)
        self.requests = 0

    def get_secret_value(self, *, SecretId: str) -> dict[str, Any]:  # noqa: N803 - AWS' own name
        assert SecretId == "arn"
        self.requests += 1
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return {"SecretString": answer}


def _secret(store: _Store, at_s: list[float]) -> CacheSecret:
    return CacheSecret(lambda: store, "arn", lambda: at_s[0])


def test_a_rotated_password_is_used() -> None:
    secret = _secret(_Store("old", "new"), [0.0])

    assert [secret(), secret()] == ["old", "new"]


def test_an_unavailable_secret_store_costs_one_time_out_and_not_the_cache() -> None:
    at_s = [0.0]
    store = _Store("old", AwsSilent("away"), "new")
    secret = _secret(store, at_s)

    assert [secret(), secret(), secret()] == ["old"] * 3
    assert store.requests == 2
    at_s[0] = 5.0
    assert secret() == "new"


def test_a_cache_with_an_unreadable_password_is_unavailable() -> None:
    with pytest.raises(NoConnection):
        _secret(_Store(AwsSilent("away")), [0.0])()


def test_a_forbidden_secret_is_a_client_error() -> None:
    refused = AwsRefused("GetSecretValue", "AccessDeniedException", 400, {})

    with pytest.raises(AwsRefused):
        _secret(_Store(refused), [0.0])()
