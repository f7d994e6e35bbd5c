"""Signature of requests to AWS: it equals botocore's for the same request and time."""

import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from redpacket.platform.aws.signature import Keys, signed

AT = "20261231T235959Z"


def _botocores(
    headers: dict[str, str], body: bytes, path: str, place: tuple[str, str], keys: Keys
) -> str:
    region, service = place
    request = AWSRequest("POST", f"https://{headers['Host']}{path}", headers, body)
    request.context["timestamp"] = AT
    signer = SigV4Auth(Credentials(*keys), service, region)
    request.headers["X-Amz-Date"] = AT
    if keys.token:
        request.headers["X-Amz-Security-Token"] = keys.token
    text = signer.string_to_sign(request, signer.canonical_request(request))
    signature = signer.signature(text, request)
    names = signer.signed_headers(signer.headers_to_sign(request))
    return (
        f"AWS4-HMAC-SHA256 Credential={signer.scope(request)}, "
        f"SignedHeaders={names}, Signature={signature}"
    )


@pytest.mark.parametrize("token", ["", "a+session/token=="])
@pytest.mark.parametrize(
    ("service", "region", "host", "path"),
    [
        ("dynamodb", "us-east-1", "dynamodb.us-east-1.amazonaws.com", "/"),
        ("sqs", "cn-north-1", "sqs.cn-north-1.amazonaws.com.cn", "/"),
        ("dynamodb", "eu-west-3", "127.0.0.1:14566", "/behind/a-proxy"),
    ],
)
@pytest.mark.parametrize("body", [b"{}", '{"Item":{"nickname":{"S":"红包 🧧"}}}'.encode()])
def test_the_signature_equals_the_one_of_botocore(
    token: str, service: str, region: str, host: str, path: str, body: bytes
) -> None:
    keys = Keys("AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", token)
    headers = {
        "Host": host,
        "Content-Type": "application/x-amz-json-1.0",
        "X-Amz-Target": "DynamoDB_20120810.TransactWriteItems",
    }

    sent = signed(headers, body, path, AT, (region, service), keys)

    assert sent["Authorization"] == _botocores(headers, body, path, (region, service), keys)
    assert {name: sent[name] for name in headers} == headers
    assert sent["X-Amz-Date"] == AT
    assert sent.get("X-Amz-Security-Token", "") == token
