"""Stacks with every condition true and false, in several Regions: complete, linted, and with the
names that each Region requires.
"""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from local.places import ROOT
from local.release import NOT_IN_CHINA, without
from redpacket.platform.http.api import ORIGIN_KEY
from tests.template import translated

each_stack = pytest.mark.parametrize("stack", translated.STACKS, ids=lambda stack: stack.name)


LINTED = "prod in China"
"""Stack outside the partition for which `make build` lints the template."""


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for each in value.values():
            yield from _strings(each)
    elif isinstance(value, list):
        for each in value:
            yield from _strings(each)
    elif isinstance(value, str):
        yield value


def test_the_stacks_have_both_sides_of_every_condition() -> None:
    for condition in translated.source()["Conditions"]:
        sides = {stack.is_true(condition) for stack in translated.STACKS}
        assert sides == {True, False}, condition


@each_stack
def test_no_rule_refuses_a_stack(stack: translated.Stack) -> None:
    assert stack.broken_rules() == set()


@each_stack
def test_every_reference_has_a_created_target(stack: translated.Stack) -> None:
    names = stack.pruned["Resources"].keys() | stack.values.keys()
    text = json.dumps(stack.pruned)
    named = set(re.findall(r'\{"Ref": "([\w:.]+)"\}', text))
    named |= set(re.findall(r'\{"Fn::GetAtt": \["(\w+)"', text))
    substituted = {
        name
        for words in re.findall(r'"Fn::Sub": (?:\[)?"([^"]*)"', text)
        for name in re.findall(r"\$\{([\w:]+)", words)
    }

    assert named <= names
    # Fn::Sub resolves these names from the map in its own arguments.
    local = {"Resource", "User", "ConfigName", "Issuer", "Host", "Hosts", "Id", "Staging"}
    local |= {"Covers", "Avatars", "WeChat", "Stack", "Pool", "Users", "Operators"}
    local |= {"Console", "More", "Chat"}
    assert substituted - local <= names


def test_cfn_lint_finds_nothing_in_another_partition(tmp_path: Path) -> None:
    """Remove the types that China lacks: the documentation doesn't say whether CloudFormation also
    checks resources whose condition is false.
    """
    stack = translated.STACK_OF[LINTED]
    path = tmp_path / "template.json"
    deployed = without(NOT_IN_CHINA, stack.template)
    assert "Cognito" not in str(deployed["Resources"])
    # Unused parameters.
    text = json.dumps({**deployed, "Parameters": {}})
    deployed["Parameters"] = {
        name: {**each, "Default": stack.parameters.get(name, each.get("Default", ""))}
        for name, each in deployed["Parameters"].items()
        if f'"{name}"' in text or f"${{{name}}}" in text
    }
    path.write_text(json.dumps({"AWSTemplateFormatVersion": "2010-09-09", **deployed}))

    done = subprocess.run(
        [
            *(sys.executable, "-c", "from cfnlint.runner import main; main()"),
            *("--regions", stack.region, "--format", "parseable"),
            # Redundant DependsOn is harmless. If a condition removes a resource, its parameters and
            # conditions remain unused.
            *("--ignore-checks", "W3005", "W2001", "W8001", "--"),
            str(path),
        ],
        cwd=ROOT / "tests",
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.stdout.strip() == ""
    assert done.returncode == 0, done.stderr


# ---- partitions

WHERE_PACKETS_ARE_PAID_FOR = "LambdaEndpoint"

ENDPOINTS = {
    region: {
        WHERE_PACKETS_ARE_PAID_FOR: f"{prefix}com.amazonaws.{region}.lambda",
        "DynamoEndpoint": f"com.amazonaws.{region}.dynamodb",
        "S3Endpoint": f"com.amazonaws.{region}.s3",
        "SecretsEndpoint": f"com.amazonaws.{region}.secretsmanager",
        "SqsEndpoint": f"{prefix}com.amazonaws.{region}.sqs",
    }
    for prefix, regions in (
        ("", ("us-east-1", "ap-southeast-1")),
        ("cn.", ("cn-north-1", "cn-northwest-1")),
    )
    for region in regions
}
"""Endpoint service names, from `aws ec2 describe-vpc-endpoint-services` and the AWS CDK. In China,
the names for SQS and Lambda have an additional prefix, and those of gateway endpoints do not.
"""


@each_stack
def test_endpoints_have_the_names_of_the_region(stack: translated.Stack) -> None:
    endpoints = stack.of_type("AWS::EC2::VPCEndpoint")

    made = {
        "DynamoEndpoint": "MakeNetwork",
        "S3Endpoint": "MakeVpc",
        "SqsEndpoint": "MakeVpc",
        "SecretsEndpoint": "ReadPasswordInMadeVpc",
        WHERE_PACKETS_ARE_PAID_FOR: "PayFromMadeVpc",
    }
    expected = {
        name: service
        for name, service in ENDPOINTS.get(stack.region, {}).items()
        if stack.is_true(made[name])
    }
    assert {name: each["ServiceName"] for name, each in endpoints.items()} == expected


@each_stack
def test_arns_and_hosts_belong_to_the_partition_of_the_region(stack: translated.Stack) -> None:
    partition = translated.partition_of(stack.region)
    strings = list(_strings(stack.resources))
    for machine in stack.of_type("AWS::StepFunctions::StateMachine").values():
        text = str(machine["DefinitionString"])
        for name, value in machine["DefinitionSubstitutions"].items():
            text = text.replace(f"${{{name}}}", str(value))
        strings.append(text)
    partitions = [each for text in strings for each in re.findall(r"\barn:([\w-]+):", text)]
    hosts = [
        host for text in strings for host in re.findall(r"[\w.-]+\.amazonaws\.com[\w.]*", text)
    ]
    # Leave out service principals, whose names are the same in every partition.
    hosts = [host for host in hosts if not re.fullmatch(r"[a-z]+\.amazonaws\.com", host)]

    assert len(partitions) > 60
    assert set(partitions) == {partition}
    if partition == "aws-cn":
        assert all(host.endswith(".amazonaws.com.cn") for host in hosts)
    else:
        assert not any(host.endswith(".cn") for host in hosts)


@each_stack
def test_the_issuer_is_the_user_pool_or_the_given_one(stack: translated.Stack) -> None:
    issuer = _jwt(stack)["users"]["Issuer"]

    if stack.is_true("MakeIssuer"):
        assert issuer == _pools_issuer(stack)
    else:
        assert issuer == translated.ISSUER
    if not stack.is_true("MakePool"):
        assert not [each for each in stack.resources.values() if "Cognito" in each["Type"]]


@pytest.mark.parametrize(
    ("region", "parameters", "rule"),
    [
        ("us-east-1", {"Stage": "prod"}, "ProdIsWatched"),
        ("cn-north-1", {}, "ChinaHasNoUserPools"),
        (
            "cn-northwest-1",
            {"Stage": "prod", "AlarmTopicArn": translated.CHINAS_TOPIC},
            "ChinaHasNoUserPools",
        ),
        ("us-east-1", {"CacheIamResource": "replicationgroup:a"}, "MadeCacheHasItsOwnUser"),
        (
            "us-east-1",
            {
                "CacheUrl": "rediss://a@h:1",
                "CacheIamResource": "replicationgroup:a",
                "CachePasswordSecretArn": "arn:aws:secretsmanager:us-east-1:1:secret:a",
            },
            "GivenCacheHasOneSignIn",
        ),
        ("us-east-1", {**translated.WECHAT, "UnitName": "points"}, "OnlyYuanIsWeChats"),
        ("us-east-1", {"UnitDecimals": "0"}, "OnlyYuanIsWeChats"),
        ("us-east-1", {"RiskUrl": translated.RISK["RiskUrl"]}, "RiskControlIsReached"),
        ("us-east-1", {"GatewayEgress": "true"}, "GatewayIsCalled"),
        ("us-east-1", {"WebAclArn": "arn:aws:wafv2:us-east-1:1:a"}, "PageIsHosted"),
        (
            "us-east-1",
            {"HostPage": "true", "PageCertificateArn": "arn:aws:acm:us-east-1:1:a"},
            "PageIsHosted",
        ),
        (
            "us-east-1",
            {"HostPage": "true", "WebAclArn": "arn:aws:wafv2:us-east-1:1:a"},
            "PageIsHosted",
        ),
        (
            "cn-north-1",
            {"HostPage": "true", "JwtIssuer": translated.ISSUER},
            "ChinaHasNoPage",
        ),
        (
            "us-east-1",
            {**translated.WECHAT, "WeChatIssuerSecretArn": "arn:a"},
            "ChannelsAreComplete",
        ),
        (
            "us-east-1",
            {"JwtIssuer": translated.ISSUER, "WeChatIssuerSecretArn": "arn:a"},
            "ChannelsAreComplete",
        ),
    ],
)
def test_a_rule_refuses_invalid_combinations(
    region: str, parameters: dict[str, str], rule: str
) -> None:
    assert rule in translated.Stack("refused", region, parameters).broken_rules()


_WALLET = "https://wallet.example"
_URLS = ["", *(f"{_WALLET}{end}" for end in ("", ":443", "/calls?at=9:30", ":443/calls"))]
_URLS.append("http://127.0.0.1:18445/wallet")
# On the internet, the security groups of GatewayEgress and of the created VPC allow only port 443.
_BLOCKED_URLS = [*(f"{_WALLET}{end}" for end in (":", ":8443", ":8443/calls", ":4430"))]
_BLOCKED_URLS += ["https://443@wallet.example:8443", "http://wallet.example", "https://"]


@pytest.mark.parametrize(
    ("parameter", "right", "wrong"),
    [
        (
            "JwtIssuer",
            ["", translated.ISSUER, "http://127.0.0.1:8080/dev", "http://localhost/x"],
            [
                "http://issuer.example/users",
                "issuer.example",
                "http://127.0.0.1.example/",
                "https://",
            ],
        ),
        (
            "UnitSymbol",
            ["¥", "pts", "积分", "US$", "✦"],
            ["", "a,b", "=1", "100", "p ts", "${x}", "nine-long", "<b>"],
        ),
        (
            "CacheIamResource",
            ["", "replicationgroup:red-1", "serverlesscache:rush"],
            ["replicationgroup:Red", "user:red", "replicationgroup:"],
        ),
        ("CachePasswordSecretArn", ["", "arn:aws:secretsmanager:a"], ["secret"]),
        (
            "CacheUrl",
            ["", "redis://h:1", "rediss://functions@cache.example:6379?cluster"],
            [
                "cache.example:6379",
                "https://h:1",
                "redis://h",
                "redis://h:1?sharded",
                "redis://@h:1",
            ],
        ),
        (
            "WeChatScene",
            ["1000,活动名称=红包,奖励说明=抢到的红包", "1002,a=b"],
            ["", "1000", "1000,a", "100,a=b", "1000,a=b,"],
        ),
        ("HostWalletUrl", _URLS, _BLOCKED_URLS),
        ("RiskUrl", _URLS, _BLOCKED_URLS),
        ("SesIdentityArn", ["", translated.TOPIC.replace("sns", "ses")], ["example.com"]),
    ],
)
def test_a_parameter_accepts_only_its_format(
    parameter: str, right: list[str], wrong: list[str]
) -> None:
    pattern = re.compile(translated.source()["Parameters"][parameter]["AllowedPattern"])

    assert all(pattern.fullmatch(value) for value in right)
    assert not any(pattern.fullmatch(value) for value in wrong)


# ---- names


CLOUDFRONTS_ERRORS = {400, 403, 404, 405, 414, 416, 500, 501, 502, 503, 504}
"""Error codes that CloudFront caches (developer guide, *How CloudFront processes errors*)."""


@each_stack
def test_cloudfront_caches_no_error(stack: translated.Stack) -> None:
    for each in stack.of_type("AWS::CloudFront::Distribution").values():
        kept = {
            error["ErrorCode"]: error["ErrorCachingMinTTL"]
            for error in each["DistributionConfig"]["CustomErrorResponses"]
        }
        assert kept == dict.fromkeys(CLOUDFRONTS_ERRORS, 0)


@each_stack
def test_the_stage_depends_on_every_route(stack: translated.Stack) -> None:
    (stage,) = (
        each
        for each in stack.pruned["Resources"].values()
        if each["Type"] == "AWS::ApiGatewayV2::Stage"
    )

    named = re.findall(r"\$\{(\w+)\}", str(stage["Properties"].get("Description", "")))
    assert stack.of_type("AWS::ApiGatewayV2::Route").keys() <= {*stage["DependsOn"], *named}


RESOURCES_MAX = 480
"""Maximum resources of our stack; CloudFormation accepts 500. Above this maximum, move the alarms
and the dashboard to a nested stack.
"""


def test_a_stack_with_every_option_is_well_below_the_limits() -> None:
    made = translated.source()
    parts = made["Resources"].values()
    everything = translated.translate(made, Canary="true")["Resources"]

    assert len(parts) > 300
    assert len(everything) <= RESOURCES_MAX


@each_stack
def test_functions_sign_in_to_one_cache_as_one_user(stack: translated.Stack) -> None:
    for policy in stack.of_type("AWS::IAM::ManagedPolicy").values():
        for statement in policy["PolicyDocument"]["Statement"]:
            if statement["Action"] == ["elasticache:Connect"]:
                assert "*" not in json.dumps(statement["Resource"])


@each_stack
def test_names_for_elasticache_and_cognito_are_lowercase_and_specific_to_the_stack(
    stack: translated.Stack,
) -> None:
    users = stack.of_type("AWS::ElastiCache::User").values()
    groups = stack.of_type("AWS::ElastiCache::UserGroup").values()
    domains = stack.of_type("AWS::Cognito::UserPoolDomain").values()
    names = [user["UserId"] for user in users] + [group["UserGroupId"] for group in groups]
    names += [domain["Domain"] for domain in domains]

    # Domains must not contain the stack's name, which has capital letters here.
    assert set(names) <= {"redpacket-51af3dc0", "redpacket-readers-51af3dc0"}
    for user in users:
        # IAM authentication requires a user's name and id to be equal.
        assert user["UserName"] == user["UserId"]
        assert user["AuthenticationMode"] == {"Type": "iam"}
        assert "Passwords" not in user
    # Cognito refuses domains with these words, which hexadecimal digits cannot spell.
    assert not any(word in name for name in names for word in ("aws", "amazon", "cognito"))


def test_a_page_under_a_domain_is_served_and_signed_in_to_under_it() -> None:
    stack = translated.STACK_OF["a page under a domain"]
    (distribution,) = stack.of_type("AWS::CloudFront::Distribution").values()
    clients = stack.of_type("AWS::Cognito::UserPoolClient")

    assert distribution["DistributionConfig"]["Aliases"] == ["red.example"]
    assert distribution["DistributionConfig"]["WebACLId"] == stack.values["WebAclArn"]
    assert [clients[name]["CallbackURLs"] for name in ("UserPoolClient", "ConsoleClient")] == [
        ["https://red.example/signed-in"],
        ["https://red.example/operator/signed-in"],
    ]
    # Users must not be able to write a claim that a campaign may require.
    written = [clients[name]["WriteAttributes"] for name in ("UserPoolClient", "ConsoleClient")]
    assert written == [["email", "nickname"]] * 2


def test_only_the_distribution_and_functions_have_the_key_that_closes_the_api_address() -> None:
    stack = translated.STACK_OF["a page under a domain"]
    sent, accepted_too = stack.values["OriginKeys"].split(",")
    (distribution,) = stack.of_type("AWS::CloudFront::Distribution").values()
    origins = {each["Id"]: each for each in distribution["DistributionConfig"]["Origins"]}
    headers = {name: each.get("OriginCustomHeaders") for name, each in origins.items()}
    functions = stack.of_type("AWS::Lambda::Function")
    given = {
        name: each["Environment"]["Variables"]["DISTRIBUTION"].split(",")
        for name, each in functions.items()
        if "Environment" in each
    }

    assert headers == {
        "api": [{"HeaderName": ORIGIN_KEY, "HeaderValue": sent}],
        "page": None,
        "staging": None,
    }
    assert all(keys == [sent, accepted_too] for _, *keys in given.values())
    # This reference makes CloudFormation update the distribution before the functions.
    unresolved = json.dumps(stack.pruned["Resources"]["GrabFunction"]["Properties"]["Environment"])
    assert "${PageDistribution.DomainName}," in unresolved
    assert stack.pruned["Outputs"]["ApiUrl"]["Value"]["Fn::Sub"][0] == "https://${Host}/api"
    assert sent not in json.dumps(
        [each for name, each in stack.resources.items() if name not in {*given, "PageDistribution"}]
    )


def test_without_a_key_the_own_address_of_the_api_serves_users() -> None:
    stack = translated.STACK_OF["a page, with packets in other pages"]
    (distribution,) = stack.of_type("AWS::CloudFront::Distribution").values()
    grab = stack.of_type("AWS::Lambda::Function")["GrabFunction"]

    assert "OriginCustomHeaders" not in json.dumps(distribution)
    assert grab["Environment"]["Variables"]["DISTRIBUTION"] == ""


def test_a_forwarded_address_counts_only_if_every_request_passes_the_distribution() -> None:
    origins = {
        stack.name: stack.of_type("AWS::Lambda::Function")["PaymentFunction"]["Environment"][
            "Variables"
        ]["CLIENT_ADDRESS"]
        for stack in translated.STACKS
    }

    assert origins["a page under a domain"] == "forwarded"
    assert origins["a page, with packets in other pages"] == ""
    assert origins["sign-in by WeChat in China"] == "source"
    for stack in translated.STACKS:
        has_keys = bool(stack.values["OriginKeys"])
        assert has_keys == (origins[stack.name] == "forwarded"), stack.name


def test_a_template_has_room_for_more_references_to_secrets() -> None:
    """CloudFormation resolves at most 60 dynamic references in a template."""
    for stack in translated.STACKS:
        text = json.dumps(stack.resources)
        assert text.count("{{resolve:") <= 55, stack.name


def test_names_that_an_account_or_region_shares_contain_the_id_of_the_stack() -> None:
    """Another Region may have a stack with the same name, as a standby or after the loss of a
    Region.
    """
    stack = translated.STACK_OF["a page, with packets in other pages"]
    named = {
        name: text
        for name, each in stack.resources.items()
        if each["Type"].startswith("AWS::CloudFront::")
        for text in re.findall(r"""['"]Name['"]: ['"]([^'"]+)""", str(each["Properties"]))
    }
    (log,) = [
        each["LogGroupName"]
        for each in stack.of_type("AWS::Logs::LogGroup").values()
        if "LogGroupName" in each
    ]

    assert len(named) == 7
    assert all("-51af3dc0-" in each for each in [*named.values(), log])
    # With another prefix, each stack would add an entry to the account's size-limited resource
    # policy for logs, which would eventually be full.
    assert log.startswith("/aws/vendedlogs/")


def test_a_stack_has_the_resources_of_its_conditions() -> None:
    assert translated.STACK_OF["prod"].of_type("AWS::ElastiCache::ReplicationGroup")
    assert not translated.STACK_OF["a given cache"].of_type("AWS::ElastiCache::ReplicationGroup")
    assert set(translated.STACK_OF["a given cache"].of_type("AWS::IAM::ManagedPolicy")) == {
        "ReadReports"
    }


def _jwt(stack: translated.Stack) -> dict[str, dict[str, Any]]:
    authorizers = stack.of_type("AWS::ApiGatewayV2::Authorizer").values()
    return {each["Name"]: each["JwtConfiguration"] for each in authorizers}


def test_the_user_function_does_not_create_operators_of_another_issuer() -> None:
    stack = translated.STACK_OF["sign-in by WeChat, and a cache that is reached from anywhere"]

    assert _jwt(stack) == {
        "users": {"Issuer": translated.ISSUER, "Audience": ["redpacket"]},
        "operators": {
            "Issuer": translated.OPERATORS["OperatorIssuer"],
            "Audience": ["console", "treasury-ann"],
        },
    }
    for issuer in ("", translated.ISSUER):
        prod = {"Stage": "prod", "AlarmTopicArn": translated.TOPIC, "OperatorIssuer": issuer}
        same = translated.Stack("same", parameters={**stack.parameters, **prod})
        assert same.broken_rules() == {"UsersKeysMakeNoOperators"}


def _pools_issuer(stack: translated.Stack) -> str:
    return f"https://cognito-idp.{stack.region}.amazonaws.com/{stack.ref('UserPool')}"


@each_stack
def test_each_client_of_an_operator_is_an_audience(stack: translated.Stack) -> None:
    operators = _jwt(stack)["operators"]
    named = {name for name in stack.values["OperatorClientIds"].split(",") if name}
    made = {
        stack.ref(client)
        for client, condition in {
            "OperatorClient": "OperatorsInPool",
            "ConsoleClient": "MakeConsoleClient",
        }.items()
        if stack.is_true(condition)
    }

    if stack.is_true("OperatorsInPool"):
        # Operators who sign in to the users' page are only users there, regardless of their groups.
        assert operators == {"Issuer": _pools_issuer(stack), "Audience": mock.ANY}
        assert set(operators["Audience"]) == made | named
    elif stack.values["OperatorIssuer"]:
        assert set(operators["Audience"]) == named
    else:
        assert operators == _jwt(stack)["users"]
        assert named <= set(operators["Audience"])


def test_operators_in_the_pool_are_separate_from_users_of_a_given_issuer() -> None:
    stack = translated.STACK_OF["a page of a given issuer, whose operators are in the pool"]
    variables = stack.of_type("AWS::Lambda::Function")["ProfileFunction"]["Environment"]

    assert _jwt(stack)["users"] == {"Issuer": translated.ISSUER, "Audience": ["redpacket"]}
    assert variables["Variables"]["OPERATOR_ISSUER"] == _pools_issuer(stack)
