"""How the functions sign in to a cache: by IAM, or with a password that its owner keeps."""

from __future__ import annotations

import time
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest
from botocore.credentials import Credentials
from botocore.hooks import HierarchicalEmitter
from botocore.model import ServiceId
from botocore.signers import RequestSigner
from redis.exceptions import ConnectionError as NoConnection

from redpacket.adapters.aws.errors import AwsRefused, AwsSilent
from redpacket.adapters.aws.signature import Keys
from redpacket.adapters.redis.connect import SignIn
from redpacket.adapters.redis.secret import CacheSecret
from redpacket.adapters.redis.token import cache_token

SECRET_KEY = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"


# ---- by IAM


def _botocores(cache: str, query: dict[str, str], region: str, keys: Keys) -> str:
    """Sign as the developer guide of ElastiCache does it."""
    credentials = Credentials(keys.access_key, keys.secret_key, keys.token or None)
    emitter = HierarchicalEmitter()
    signer = RequestSigner(
        ServiceId("elasticache"), region, "elasticache", "v4", credentials, emitter
    )
    asked = "&".join(f"{name}={value}" for name, value in query.items())
    request = {
        "method": "GET",
        "url": f"http://{cache}/?{asked}",
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
def test_a_token_is_botocores_presigned_request(
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


def test_every_connection_signs_in_with_a_password_of_its_own() -> None:
    passwords = iter(["first", "second"])
    sign_in = SignIn("functions", lambda: next(passwords))

    assert sign_in.get_credentials() == ("functions", "first")
    assert sign_in.get_credentials() == ("functions", "second")


def test_a_cache_without_users_gets_a_password_alone() -> None:
    assert SignIn("", "password").get_credentials() == ("password",)


# ---- with a password that somebody keeps


class _Store:
    """Stands in for Secrets Manager; *answers* are passwords and errors."""

    def __init__(self, *answers: str | Exception) -> None:
        self.answers = list(answers)
        self.asked = 0

    def get_secret_value(self, *, SecretId: str) -> dict[str, Any]:  # noqa: N803 - AWS' own name
        assert SecretId == "arn"
        self.asked += 1
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return {"SecretString": answer}


def _secret(store: _Store, at_s: list[float]) -> CacheSecret:
    return CacheSecret(lambda: store, "arn", lambda: at_s[0])


def test_a_password_that_rotates_is_followed() -> None:
    secret = _secret(_Store("old", "new"), [0.0])

    assert [secret(), secret()] == ["old", "new"]


def test_a_store_that_is_away_costs_one_time_out_and_not_the_cache() -> None:
    at_s = [0.0]
    store = _Store("old", AwsSilent("away"), "new")
    secret = _secret(store, at_s)

    assert [secret(), secret(), secret()] == ["old"] * 3
    assert store.asked == 2
    at_s[0] = 5.0
    assert secret() == "new"


def test_a_cache_whose_password_can_not_be_read_is_away() -> None:
    with pytest.raises(NoConnection):
        _secret(_Store(AwsSilent("away")), [0.0])()


def test_a_secret_that_may_not_be_read_is_a_fault_of_ours() -> None:
    refused = AwsRefused("GetSecretValue", "AccessDeniedException", 400, {})

    with pytest.raises(AwsRefused):
        _secret(_Store(refused), [0.0])()
