"""Trust of TLS connections to AWS and to the cache, tested with a test CA."""

import ssl
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import botocore
import certifi
import pytest
import redis

from local.ports import HOST
from redpacket.platform import tls
from redpacket.platform.aws.client import AwsClient
from redpacket.platform.aws.errors import AwsSilent
from redpacket.platform.aws.signature import Keys
from redpacket.platform.redis.connect import connect
from testing.platform.aws_stub import Says, an_aws_stub
from testing.platform.tls_servers import Authority, tls_before

ROOTS = {
    "Amazon Root CA 1",
    "Amazon Root CA 2",
    "Amazon Root CA 3",
    "Amazon Root CA 4",
    "Starfield Services Root Certificate Authority - G2",
}
BUNDLES = (Path(certifi.where()), Path(botocore.__file__).with_name("cacert.pem"))


def _certificates(bundle: Path) -> dict[bytes, Any]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.load_verify_locations(bundle)
    told = context.get_ca_certs()
    return dict(zip(context.get_ca_certs(binary_form=True), told, strict=True))


def _common_name(certificate: dict[str, Any]) -> str:
    return next((value for ((name, value),) in certificate["subject"] if name == "commonName"), "")


@pytest.mark.parametrize("bundle", BUNDLES, ids=["certifi", "botocore"])
def test_the_roots_are_the_five_public_ones_of_amazon(bundle: Path) -> None:
    ours = _certificates(tls.AMAZON_ROOTS)

    assert {_common_name(certificate) for certificate in ours.values()} == ROOTS
    assert ours.keys() <= _certificates(bundle).keys()


@pytest.mark.parametrize(
    ("host", "has_five"),
    [
        ("dynamodb.us-east-1.amazonaws.com", True),
        ("master.redpacket.abc123.use1.cache.amazonaws.com", True),
        ("sqs.cn-north-1.amazonaws.com.cn", False),
        ("cache.example", False),
        ("amazonaws.com.example", False),
        ("notamazonaws.com", False),
        ("localhost", False),
    ],
)
def test_the_roots_of_amazon_verify_hosts_of_amazon(host: str, *, has_five: bool) -> None:
    context = tls.context_for(host)

    assert context.verify_mode is ssl.CERT_REQUIRED
    assert context.check_hostname
    names = {_common_name(certificate) for certificate in context.get_ca_certs()}
    assert (names == ROOTS) == has_five


def test_a_given_bundle_replaces_the_roots(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    given = tls.context_for("dynamodb.us-east-1.amazonaws.com", str(authority.bundle))

    assert [_common_name(root) for root in given.get_ca_certs()] == ["Test Root"]
    assert tls.context_for("a.amazonaws.com") is tls.context_for("b.amazonaws.com")


# ---- servers with certificates of a test CA


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture(scope="module")
def other_bundle(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(Authority(tmp_path_factory.mktemp("other")).bundle)


DrawCall = Callable[[str, str], object]
"""Function that calls a server, given a host name and a bundle of roots."""


@pytest.fixture(params=["aws", "cache"])
def ask(
    request: pytest.FixtureRequest, authority: Authority, redis_port: int
) -> Iterator[DrawCall]:
    with ExitStack() as until_the_end:
        if request.param == "aws":
            stub = until_the_end.enter_context(an_aws_stub(answer=lambda _: {"Item": {}}))
        plain_port = stub.port if request.param == "aws" else redis_port
        port = until_the_end.enter_context(
            tls_before(plain_port, authority.server_context("localhost"))
        )

        def ask_aws(host: str, bundle: str) -> object:
            client = AwsClient(
                "dynamodb",
                "us-east-1",
                f"https://{host}:{port}",
                keys=lambda: Keys("test", "test", ""),
                ca_bundle=bundle,
                connect_timeout_s=1,
                read_timeout_s=2,
            )
            with closing(client):
                return client.get_item(TableName="table", Key={})

        def ask_cache(host: str, bundle: str) -> object:
            client = connect(
                host, port, has_tls=True, username="", password="", timeout_s=2, ca_bundle=bundle
            )
            with closing(client):
                return client.ask("PING", "rp:key")

        yield ask_aws if request.param == "aws" else ask_cache


def test_a_server_with_the_right_certificate_answers(ask: DrawCall, authority: Authority) -> None:
    assert ask("localhost", str(authority.bundle))


def test_a_certificate_of_another_host_is_refused(ask: DrawCall, authority: Authority) -> None:
    with pytest.raises((AwsSilent, redis.ConnectionError), match="IP address mismatch"):
        ask(HOST, str(authority.bundle))


@pytest.mark.parametrize("is_given", [True, False])
def test_a_certificate_of_another_authority_is_refused(
    ask: DrawCall, other_bundle: str, *, is_given: bool
) -> None:
    with pytest.raises((AwsSilent, redis.ConnectionError), match="certificate verify failed"):
        ask("localhost", other_bundle if is_given else "")


def test_a_plain_server_times_out_if_tls_is_expected(authority: Authority) -> None:
    with an_aws_stub(Says()) as stub:
        client = AwsClient(
            "sqs",
            "us-east-1",
            f"https://localhost:{stub.port}",
            keys=lambda: Keys("test", "test", ""),
            ca_bundle=str(authority.bundle),
            connect_timeout_s=0.2,
            read_timeout_s=0.2,
        )
        with closing(client), pytest.raises(AwsSilent):
            client.send_message(QueueUrl="queue", MessageBody="{}")

    assert stub.calls == []
