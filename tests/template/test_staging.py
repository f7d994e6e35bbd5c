"""CloudFront functions: testers with a signed link are routed to the staging stack."""

import json
import os
import re
import shutil
import subprocess
import time
from typing import Any

import httpx
import pytest

from local.places import LOCAL
from redpacket.packets.model.packet_id import PACKET_ID
from redpacket_cli.operate import staging_word
from testing.builders import a_packet_id
from tests.template.translated import STACK_OF

STACK = STACK_OF["a page under a domain"]
KEY = "k" * 43
NODE = shutil.which("node", path=f"{LOCAL / 'venv/node/bin'}{os.pathsep}{os.environ['PATH']}")
FUNCTIONS = ("PagePaths", "ApiPaths")

_RUN = """
const events = JSON.parse(process.argv[1]);
console.log(JSON.stringify(events.map((event) => {
  origin = "its own";
  return { answer: handler(event), origin };
})));
"""


def _run(function: str, *requests: dict[str, Any], key: str = KEY) -> list[dict[str, Any]]:
    """Return the function's result for each request, and the origin that the function selected."""
    code = STACK.resolved(STACK.resources[function]["Properties"]["FunctionCode"])
    code, keys = re.subn(
        r"\{\{resolve:secretsmanager:\S+:SecretString:key\}\}", lambda _: key, code
    )
    assert keys == 1
    stub = "let origin; const cf = { selectRequestOriginById: (id) => { origin = id; } };"
    code, imports = re.subn(r'import cf from "cloudfront";', stub, code)
    assert imports == 1
    assert NODE, "`make page` installs node"
    ran = subprocess.run(
        [NODE, "--input-type=module", "-e", f"{code}\n{_RUN}", json.dumps(requests)],
        capture_output=True,
        text=True,
        check=True,
    )
    answers: list[dict[str, Any]] = json.loads(ran.stdout)
    return answers


def _request(
    uri: str = "/send", to: str = "", cookie: str = "", headers: dict[str, str] | None = None
) -> dict[str, Any]:
    query = {"to": {"value": to}} if to else {}
    sent_headers = {"host": "red.example", **(headers or {})}
    return {
        "request": {
            "uri": uri,
            "querystring": {**query, "code": {"value": "a%20b"}, "state": {"value": "c"}},
            "headers": {name: {"value": value} for name, value in sent_headers.items()},
            "cookies": {"rp_to": {"value": cookie}} if cookie else {},
        }
    }


def _word(left_s: int = 3_600, key: str = KEY) -> str:
    return staging_word(key, int(time.time()) + left_s)


def _forged() -> list[str]:
    word = _word()
    later = word.replace(word.split(".")[1], "9" * 12)
    return ["staging", "staging..", word[:-1], f"{word}0", later, _word(-1), _word(key="x" * 43)]


@pytest.mark.parametrize("shards", [1, 2, 64])
def test_only_crawlers_are_redirected_to_the_preview_of_a_packet(shards: int) -> None:
    browser = {"sec-fetch-mode": "navigate"}
    packet_id = a_packet_id(shards)
    path = f"/packets/{packet_id}"
    again = _request(path)
    again["request"]["querystring"]["page"] = {"value": ""}

    crawler, visit, back, shared = _run(
        "PagePaths",
        _request(path),
        _request(path, headers=browser),
        again,
        _request(f"{path}/share"),
    )

    assert crawler["answer"]["statusCode"] == 302
    led = crawler["answer"]["headers"]["location"]["value"]
    assert led == f"/api{path}/preview"
    assert [each["answer"]["uri"] for each in (visit, back, shared)] == ["/index.html"] * 3


@pytest.mark.parametrize("tilde", ["%7E", "%7e"])
def test_a_link_with_an_escaped_tilde_opens_the_same_preview(tilde: str) -> None:
    packet_id = a_packet_id(2)

    (crawler,) = _run("PagePaths", _request(f"/packets/{packet_id.replace('~', tilde)}"))

    led = crawler["answer"]["headers"]["location"]["value"]
    assert led == f"/api/packets/{packet_id}/preview"


def test_the_distribution_accepts_the_same_packet_ids_as_the_package() -> None:
    ids = [a_packet_id(shards) for shards in range(1, 65)]
    others = [f"{ids[0]}~{text}" for text in ("", "0", "1", "02", "65", "2~2", "2/")]
    others += [ids[0][:-1], f"{ids[0]}A", f"{ids[0]}~2"[1:], "", "nowhere"]

    answers = _run("PagePaths", *(_request(f"/packets/{each}") for each in ids + others))

    led = [each["answer"].get("statusCode") == httpx.codes.FOUND for each in answers]
    assert led == [PACKET_ID.fullmatch(each) is not None for each in ids + others]
    assert led == [True] * len(ids) + [False] * len(others)


def test_a_link_sets_the_cookie_and_keeps_the_parameters_of_wechat() -> None:
    word = _word()

    ((answer, _),) = (each.values() for each in _run("PagePaths", _request("/wallet", to=word)))

    assert answer["statusCode"] == httpx.codes.FOUND
    location = "https://red.example/wallet?code=a%20b&state=c"
    assert answer["headers"]["location"]["value"] == location
    cookie = answer["cookies"]["rp_to"]
    assert cookie["value"] == word
    assert re.fullmatch(
        r"Path=/; Secure; SameSite=Lax; Max-Age=3[56]\d\d", cookie["attributes"], re.ASCII
    )


@pytest.mark.parametrize("function", FUNCTIONS)
def test_the_cookie_selects_the_origin_of_the_page_and_of_the_api(function: str) -> None:
    (answer,) = _run(function, _request("/api/packets/x/feed", cookie=_word()))

    assert answer["origin"] == "staging"
    # The staging stack's own distribution removes the prefix.
    assert answer["answer"]["uri"] == "/api/packets/x/feed"
    assert answer["answer"]["headers"]["x-staging"] == {"value": "true"}


@pytest.mark.parametrize("function", FUNCTIONS)
def test_other_users_stay_and_cannot_reach_the_staging_stack(function: str) -> None:
    headers = {"x-staging": "true"}
    requests = [_request(headers=headers), *(_request(cookie=word) for word in _forged())]
    requests += [_request(to=word) for word in _forged()]

    for answer in _run(function, *requests):
        assert answer["origin"] == "its own"
        assert "statusCode" not in answer["answer"]
        assert "x-staging" not in answer["answer"]["headers"]


def test_an_unresolved_key_signs_nothing() -> None:
    for key in ("k" * 31, "{{resolve:secretsmanager:arn:SecretString:key}}"):
        (answer,) = _run("PagePaths", _request(cookie=_word(key=key)), key=key)
        assert answer["origin"] == "its own"


def test_a_tester_can_leave_and_a_link_redirects_to_no_other_host() -> None:
    (answer,) = _run("PagePaths", _request("//evil.example", to="live", cookie=_word()))

    assert answer["answer"]["cookies"]["rp_to"]["attributes"].endswith("Max-Age=0")
    location = answer["answer"]["headers"]["location"]["value"]
    assert location == "https://red.example//evil.example?code=a%20b&state=c"


def test_every_behavior_recognizes_testers_and_caches_their_answers_separately() -> None:
    resources = STACK.resolved(STACK.pruned["Resources"])
    config = resources["PageDistribution"]["Properties"]["DistributionConfig"]
    behaviors = [config["DefaultCacheBehavior"], *config["CacheBehaviors"]]
    kept_by = {
        STACK.ref(name): each["Properties"]["CachePolicyConfig"]
        for name, each in resources.items()
        if each["Type"] == "AWS::CloudFront::CachePolicy"
    }

    (staging,) = [origin for origin in config["Origins"] if origin["Id"] == "staging"]
    assert staging["CustomOriginConfig"]["OriginProtocolPolicy"] == "https-only"
    caching_disabled = "4135ea2d-6df8-44a3-9df3-4b5a84be39ad"
    for each in behaviors:
        assert [
            function_association["EventType"]
            for function_association in each["FunctionAssociations"]
        ] == ["viewer-request"]
        if each["CachePolicyId"] != caching_disabled:
            key = kept_by[each["CachePolicyId"]]["ParametersInCacheKeyAndForwardedToOrigin"]
            assert key["HeadersConfig"]["Headers"] == ["x-staging"]


def test_without_a_staging_stack_the_functions_have_no_key_and_no_origin() -> None:
    stack = STACK_OF["a page of a given issuer, whose operators are in the pool"]
    resources = stack.resolved(stack.pruned["Resources"])

    config = resources["PageDistribution"]["Properties"]["DistributionConfig"]
    assert [origin["Id"] for origin in config["Origins"]] == ["page", "api"]
    for name in FUNCTIONS:
        code = resources[name]["Properties"]["FunctionCode"]
        assert code.startswith("function staging() { return null; }")
        assert "import" not in code
