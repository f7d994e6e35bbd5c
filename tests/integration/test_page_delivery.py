"""Page behind CloudFront: deployed to the emulator with the template, and uploaded to its bucket.

The emulator stores the distribution but does not serve it. Therefore, the tests run the
distribution's functions in Node, and look up the resulting paths in the bucket.
"""

import json
import subprocess
from typing import Any

import pytest

from local import places
from local.errors import StackError
from local.gateways.wechat.setup import AUTHORIZE_URL
from local.page import SECURITY_HEADERS
from local.publish import configuration, publish
from local.stack import Stack

NODE = places.LOCAL / "venv" / "node" / "bin" / "node"
CONFIG = {"api": "/api", "auth": {"kind": "oidc"}}


@pytest.fixture(scope="module")
def bucket(stack: Stack) -> str:
    if not places.PAGE.exists():
        pytest.skip("the page isn't built: make page")
    name = stack.outputs["PageBucketName"]
    publish(stack.aws("s3"), name, CONFIG)
    publish(stack.aws("s3"), name, CONFIG, is_staging=True)
    return name


@pytest.fixture(scope="module")
def distribution(stack: Stack) -> dict[str, Any]:
    cloudfront = stack.aws("cloudfront")
    name = stack.outputs["PageDistributionId"]
    config: dict[str, Any] = cloudfront.get_distribution_config(Id=name)["DistributionConfig"]
    return config


def _led_to(stack: Stack, function: str, uri: str, headers: dict[str, str] | None = None) -> str:
    """Return the path that CloudFront requests from the origin after *function* has run."""
    cloudfront = stack.aws("cloudfront")
    named = [
        item["Name"]
        for item in cloudfront.list_functions(Stage="LIVE")["FunctionList"]["Items"]
        if item["Name"].endswith(function)
    ]
    code = cloudfront.get_function(Name=named[0], Stage="LIVE")["FunctionCode"].read().decode()
    browser = {"sec-fetch-mode": "navigate"}
    shown_headers = {
        name: {"value": value} for name, value in {**browser, **(headers or {})}.items()
    }
    event = json.dumps({"request": {"uri": uri, "headers": shown_headers, "querystring": {}}})
    done = subprocess.run(
        [NODE, "-e", f"{code}; console.log(handler({event}).uri)"],
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


@pytest.mark.parametrize("path", ["/", "/send", "/packets/AbC-_9", "/campaigns/spring-2027"])
def test_every_path_of_the_page_returns_its_document(stack: Stack, bucket: str, path: str) -> None:
    key = _led_to(stack, "page-paths", path).removeprefix("/")

    stored = stack.aws("s3").get_object(Bucket=bucket, Key=key)

    assert b"<rp-app>" in stored["Body"].read()
    assert stored["CacheControl"] == "no-cache"


@pytest.mark.parametrize("path", ["/operator", "/operator/campaigns/spring/winners"])
def test_every_path_of_operators_returns_their_document(
    stack: Stack, bucket: str, path: str
) -> None:
    key = _led_to(stack, "page-paths", path).removeprefix("/")

    stored = stack.aws("s3").get_object(Bucket=bucket, Key=key)

    assert b"<op-app>" in stored["Body"].read()
    assert stored["CacheControl"] == "no-cache"
    assert _led_to(stack, "page-paths", "/operators") == "/index.html"


def test_files_of_the_page_keep_their_path_and_are_cached(stack: Stack, bucket: str) -> None:
    store = stack.aws("s3")
    keys = [item["Key"] for item in store.list_objects_v2(Bucket=bucket)["Contents"]]
    assets = [key for key in keys if key.startswith("assets/")]

    assert assets
    for key in assets:
        assert _led_to(stack, "page-paths", f"/{key}") == f"/{key}"
        assert "immutable" in store.get_object(Bucket=bucket, Key=key)["CacheControl"]


def test_a_header_selects_the_staged_page(stack: Stack, bucket: str) -> None:
    header = {"x-page-stage": "staging"}

    key = _led_to(stack, "page-paths", "/send", header).removeprefix("/")

    assert key == "staging/index.html"
    assert _led_to(stack, "page-paths", "/operator", header) == "/staging/operator.html"
    assert stack.aws("s3").get_object(Bucket=bucket, Key=key)
    assert _led_to(stack, "page-paths", "/send", {"x-page-stage": "other"}) == "/index.html"


def test_the_prefix_is_removed_from_api_requests(stack: Stack) -> None:
    assert _led_to(stack, "api-paths", "/api/packets/x/feed") == "/packets/x/feed"
    assert _led_to(stack, "api-paths", "/api/api/x") == "/api/x"


def test_only_public_pages_of_the_api_are_cached(distribution: dict[str, Any]) -> None:
    behaviours = {item["PathPattern"]: item for item in distribution["CacheBehaviors"]["Items"]}

    disabled = "4135ea2d-6df8-44a3-9df3-4b5a84be39ad"
    assert [path for path, each in behaviours.items() if each["CachePolicyId"] == disabled] == [
        *("/api/campaigns/*/*", "/api/*"),
    ]
    # CloudFront uses the first pattern that matches.
    assert list(behaviours) == [
        *("/red-packet*.js", "/config.json", "/api/packets/*/feed", "/api/packets/*/preview"),
        *("/pictures/*", "/api/campaigns/*/*", "/api/campaigns/*"),
        *("/api/transparency*", "/api/*"),
    ]
    assert {item["TargetOriginId"] for item in behaviours.values()} == {"api", "page"}


def test_only_the_distribution_can_read_the_bucket(stack: Stack, bucket: str) -> None:
    policy = json.loads(stack.aws("s3").get_bucket_policy(Bucket=bucket)["Policy"])

    (allowed,) = [statement for statement in policy["Statement"] if statement["Effect"] == "Allow"]

    assert allowed["Principal"] == {"Service": "cloudfront.amazonaws.com"}
    assert stack.outputs["PageDistributionId"] in json.dumps(allowed["Condition"])


def test_cloudfront_sends_the_headers_of_the_local_page(stack: Stack) -> None:
    policies = stack.aws("cloudfront").list_response_headers_policies(Type="custom")
    (config,) = [
        item["ResponseHeadersPolicy"]["ResponseHeadersPolicyConfig"]
        for item in policies["ResponseHeadersPolicyList"]["Items"]
        if item["ResponseHeadersPolicy"]["ResponseHeadersPolicyConfig"]["Name"].endswith("-page")
    ]

    told = config["SecurityHeadersConfig"]["ContentSecurityPolicy"]["ContentSecurityPolicy"]

    here = SECURITY_HEADERS["content-security-policy"]
    before, _, after = here.partition("connect-src 'self'")
    assert told.startswith(before)
    assert told.endswith(after)
    issuers = told.removeprefix(f"{before}connect-src 'self'").removesuffix(after)
    assert issuers == " https://127.0.0.1:" + stack.api.rpartition(":")[2]


def test_the_configuration_names_the_pool_or_the_given_issuer() -> None:
    pool = {"UserPoolId": "eu-1_x", "UserPoolClientId": "abc"}
    given = {"JwtIssuer": "https://issuer.example", "PageClientId": "page"}

    own = configuration(pool, {"JwtIssuer": "", "PageClientId": ""}, "eu-central-1")["auth"]
    theirs = configuration({}, given, "eu-central-1")["auth"]

    assert own["issuer"] == "https://cognito-idp.eu-central-1.amazonaws.com/eu-1_x"
    assert (own["client_id"], own["token"]) == ("abc", "id_token")
    assert (theirs["issuer"], theirs["client_id"]) == ("https://issuer.example", "page")


@pytest.mark.parametrize(
    ("outputs", "given", "expected"),
    [
        ({"UserPoolId": "eu-1_x", "ConsoleClientId": "c"}, {}, ("eu-1_x", "c", "id_token")),
        (
            {"UserPoolId": "eu-1_x", "ConsoleClientId": "c"},
            {"OperatorIssuer": "pool", "OperatorClientIds": "tool"},
            ("eu-1_x", "c", "id_token"),
        ),
        (
            {},
            {"OperatorIssuer": "https://staff.example", "OperatorClientIds": "a,b"},
            ("https://staff.example", "a", "access_token"),
        ),
    ],
)
def test_operators_sign_in_separately_if_users_sign_in_through_wechat(
    outputs: dict[str, str], given: dict[str, str], expected: tuple[str, str, str]
) -> None:
    users = {"JwtIssuer": "https://keys.example", "WeChatIssuerSecretArn": "a", "WeChatAppId": "wx"}

    told = configuration(outputs, {**users, **given}, "eu-central-1")

    auth = told["operators_auth"]
    assert told["auth"] == {"kind": "wechat"}
    assert (
        auth["issuer"].split("amazonaws.com/")[-1],
        auth["client_id"],
        auth["token"],
    ) == expected
    assert "operators_auth" not in configuration({}, users, "eu-central-1")


def test_users_of_an_issuer_whose_tokens_the_api_signs_sign_in_through_wechat() -> None:
    given = {"JwtIssuer": "https://keys.example", "WeChatIssuerSecretArn": "arn:aws:1"}

    confirm = {"ConfirmUrl": "https://host.example/confirm"}
    told = configuration({}, {**given, **confirm, "WeChatAppId": "wx1"}, "eu-central-1")

    assert told["confirm_url"] == confirm["ConfirmUrl"]
    assert told["auth"] == {"kind": "wechat"}
    assert told["wechat"] == {"app_id": "wx1", "authorize_url": AUTHORIZE_URL}
    hosts = {"AvatarHosts": "a.example,thirdwx.qlogo.cn", "WeChatAppId": "wx1"}
    told = configuration({}, {**given, **hosts}, "eu-central-1")
    assert told["wechat"]["scope"] == "snsapi_userinfo"
    with pytest.raises(StackError, match="WeChatAppId"):
        configuration({}, given, "eu-central-1")
