"""Template as CloudFormation receives it: translated by SAM, with conditions evaluated and values
filled in.

SAM's translator pins a different version of pydantic than the product does, so it runs in the `sam`
environment.
"""

import json
import operator
import os
import re
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property, reduce
from typing import Any

from local.places import SAM
from local.template import read_long_form

ACCOUNT = "123456789012"
STACK_NAME = "RedPacket-prod"
STACK_UUID = "51af3dc0-da77-11e4-872e-1234567db123"

_TRANSLATE = """
import json, sys
import boto3
from samtranslator.parser.parser import Parser
from samtranslator.translator.translator import Translator
template, region, parameters = json.load(sys.stdin)
given = {name: each.get("Default") for name, each in template["Parameters"].items()} | parameters
given |= {"AWS::Region": region}
translator = Translator({}, Parser(), boto_session=boto3.Session(region_name=region))
print(json.dumps(translator.translate(template, given)))
"""


def source() -> dict[str, Any]:
    """Return template.yaml in its long form, with the code's location in a bucket."""
    template = read_long_form()
    for name, resource in template["Resources"].items():
        for code in ("CodeUri", "ContentUri"):
            if code in resource.get("Properties", {}):
                resource["Properties"][code] = f"s3://artifacts/{name}"
    return template


def translate(
    template: Mapping[str, Any], region: str = "us-east-1", **parameters: str
) -> dict[str, Any]:
    """Translate *template* with SAM."""
    done = subprocess.run(
        [SAM.with_name("python"), "-c", _TRANSLATE],
        input=json.dumps([template, region, parameters], default=str),
        capture_output=True,
        text=True,
        check=False,
        env={"PATH": os.environ["PATH"], "AWS_DEFAULT_REGION": region},
    )
    assert done.returncode == 0, done.stderr
    translated: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return translated


READ_BY_SAM = {"Canary": "false"}
"""Parameters whose values change which resources SAM creates, with their defaults."""


@cache
def _translated(partition: str, **read: str) -> dict[str, Any]:
    """Translate the template once per partition, because SAM ignores the Region."""
    region = "cn-north-1" if partition == "aws-cn" else "us-east-1"
    return translate(source(), region, **read)


def partition_of(region: str) -> str:
    """Return the AWS partition of a Region."""
    return "aws-cn" if region.startswith("cn-") else "aws"


_ARNS = {
    "AWS::DynamoDB::Table": "dynamodb:{place}:table/{name}",
    "AWS::SQS::Queue": "sqs:{place}:{name}",
    "AWS::Lambda::Function": "lambda:{place}:function:{name}",
    "AWS::SecretsManager::Secret": "secretsmanager:{place}:secret:{name}-a1b2c3",
    "AWS::KMS::Key": "kms:{place}:key/{name}",
    "AWS::IAM::Role": "iam::{account}:role/{name}",
    "AWS::IAM::ManagedPolicy": "iam::{account}:policy/{name}",
    "AWS::Lambda::Alias": "lambda:{place}:function:{name}",
    "AWS::Lambda::Version": "lambda:{place}:function:{name}",
    "AWS::Lambda::LayerVersion": "lambda:{place}:layer:{name}:1",
    "AWS::Logs::LogGroup": "logs:{place}:log-group:{name}:*",
    "AWS::Events::Rule": "events:{place}:rule/{name}",
    "AWS::S3::Bucket": "s3:::{name}",
    "AWS::Cognito::UserPool": "cognito-idp:{place}:userpool/{name}",
}
_REFS_ARE_ARNS = {
    "AWS::SecretsManager::Secret",
    "AWS::IAM::ManagedPolicy",
    "AWS::Lambda::Alias",
    "AWS::Lambda::Version",
    "AWS::Lambda::LayerVersion",
}
NOTHING = {"Ref": "AWS::NoValue"}


@dataclass(frozen=True)
class Stack:
    """Stack that would be deployed to a Region with parameters."""

    name: str
    region: str = "us-east-1"
    parameters: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def template(self) -> dict[str, Any]:
        read = {name: self.parameters.get(name, READ_BY_SAM[name]) for name in READ_BY_SAM}
        return _translated(partition_of(self.region), **read)

    @cached_property
    def values(self) -> dict[str, Any]:
        """Return the values of the parameters and pseudo parameters."""
        suffix = "amazonaws.com.cn" if partition_of(self.region) == "aws-cn" else "amazonaws.com"
        given = {
            name: self.parameters.get(name, str(each.get("Default", "")))
            for name, each in self.template["Parameters"].items()
        }
        lists = {
            name: given[name].split(",") if given[name] else [""]
            for name, each in self.template["Parameters"].items()
            if each["Type"] == "CommaDelimitedList"
        }
        pseudo = {
            "AWS::Region": self.region,
            "AWS::Partition": partition_of(self.region),
            "AWS::URLSuffix": suffix,
            "AWS::AccountId": ACCOUNT,
            "AWS::StackName": STACK_NAME,
            "AWS::StackId": (
                f"arn:{partition_of(self.region)}:cloudformation:{self.region}:{ACCOUNT}:stack/"
                f"{STACK_NAME}/{STACK_UUID}"
            ),
        }
        return given | lists | pseudo

    def is_true(self, condition: str) -> bool:
        return bool(self.resolved(self.template["Conditions"][condition]))

    @cached_property
    def pruned(self) -> dict[str, Any]:
        """Return the template with its conditions evaluated, but other intrinsics unresolved."""
        kept = {
            name: {key: value for key, value in each.items() if key != "Condition"}
            for name, each in self.template["Resources"].items()
            if "Condition" not in each or self.is_true(each["Condition"])
        }
        outputs = {
            name: {key: value for key, value in each.items() if key != "Condition"}
            for name, each in self.template["Outputs"].items()
            if "Condition" not in each or self.is_true(each["Condition"])
        }
        read = {name: self.template[name] for name in ("Parameters", "Mappings")}
        whole = {**read, "Resources": kept, "Outputs": outputs}
        decided: dict[str, Any] = self._decided(whole)
        return decided

    @cached_property
    def resources(self) -> dict[str, dict[str, Any]]:
        """Return the created resources with all intrinsics resolved."""
        resolved: dict[str, dict[str, Any]] = self.resolved(self.pruned["Resources"])
        return resolved

    def of_type(self, kind: str) -> dict[str, dict[str, Any]]:
        """Return the properties of all resources of a type, by logical id."""
        return {
            name: each.get("Properties", {})
            for name, each in self.resources.items()
            if each["Type"] == kind
        }

    def handlers(self) -> dict[str, dict[str, Any]]:
        """Return the package's functions: all except GroupScopes, whose code is inline in the
        template.
        """
        made = self.of_type("AWS::Lambda::Function")
        return {name: each for name, each in made.items() if name != "GroupScopes"}

    def physical(self, name: str) -> str:
        """Return a resource's name, similar to the one that CloudFormation would generate."""
        return f"{STACK_NAME}-{name}"

    def arn(self, name: str) -> str:
        kind = self.template["Resources"][name]["Type"]
        place = f"{self.region}:{ACCOUNT}"
        rest = _ARNS[kind].format(place=place, account=ACCOUNT, name=self.physical(name))
        return f"arn:{partition_of(self.region)}:{rest}"

    def broken_rules(self) -> set[str]:
        """Return the names of the template's rules that the parameters break."""
        return {
            name
            for name, rule in self.template["Rules"].items()
            if self.resolved(rule.get("RuleCondition", True))
            for assertion in rule["Assertions"]
            if not self.resolved(assertion["Assert"])
        }

    def _decided(self, value: Any) -> Any:
        """Resolve every Fn::If, and remove AWS::NoValue."""
        if isinstance(value, list):
            kept = [self._decided(each) for each in value]
            return [each for each in kept if each != NOTHING]
        if not isinstance(value, dict):
            return value
        if value.keys() == {"Fn::If"}:
            condition, yes, no = value["Fn::If"]
            return self._decided(yes if self.is_true(condition) else no)
        decided = {key: self._decided(each) for key, each in value.items()}
        return {key: each for key, each in decided.items() if each != NOTHING}

    def resolved(self, value: Any) -> Any:
        """Resolve every intrinsic function in *value*."""
        if isinstance(value, list):
            return [self.resolved(each) for each in value]
        if not isinstance(value, dict):
            return value
        if len(value) == 1:
            ((name, argument),) = value.items()
            if name in _INTRINSICS:
                return _INTRINSICS[name](self, argument)
        return {key: self.resolved(each) for key, each in value.items()}

    def ref(self, name: str) -> Any:
        if name in self.values:
            return self.values[name]
        kind = self.template["Resources"][name]["Type"]
        if kind in _REFS_ARE_ARNS:
            return self.arn(name)
        if kind == "AWS::SQS::Queue":
            suffix = self.values["AWS::URLSuffix"]
            return f"https://sqs.{self.region}.{suffix}/{ACCOUNT}/{self.physical(name)}"
        properties = self.template["Resources"][name].get("Properties", {})
        given = properties.get("UserId") or properties.get("Domain")
        if given:
            return self.resolved(given)
        # ElastiCache creates lowercase ids.
        return self.physical(name).lower() if "ElastiCache" in kind else self.physical(name)

    def attribute(self, name: str, attribute: str) -> str:
        kind = self.template["Resources"][name]["Type"]
        if attribute == "Arn" or (kind, attribute) == ("AWS::SecretsManager::Secret", "Id"):
            return self.arn(name)
        if attribute == "QueueName":
            return self.physical(name)
        return f"{self.physical(name)}.{attribute}"

    def substituted(self, argument: Any) -> str:
        text, given = argument if isinstance(argument, list) else (argument, {})

        def fill(match: re.Match[str]) -> str:
            name = match[1]
            if name in given:
                return str(self.resolved(given[name]))
            resource, _, attribute = name.partition(".")
            return str(self.attribute(resource, attribute) if attribute else self.ref(name))

        return re.sub(r"\$\{([^}!]+)\}", fill, text)

    def selected(self, argument: list[Any]) -> Any:
        index, values = self.resolved(argument)
        return values[int(index)]

    def condition(self, name: str) -> bool:
        return self.is_true(name)


_INTRINSICS: dict[str, Callable[[Stack, Any], Any]] = {
    "Ref": Stack.ref,
    "Condition": Stack.condition,
    "Fn::GetAtt": lambda stack, given: stack.attribute(*given),
    "Fn::Sub": Stack.substituted,
    "Fn::Select": Stack.selected,
    "Fn::Join": lambda stack, given: given[0].join(map(str, stack.resolved(given[1]))),
    "Fn::Split": lambda stack, given: stack.resolved(given[1]).split(given[0]),
    "Fn::GetAZs": lambda stack, _: [f"{stack.region}{zone}" for zone in "ab"],
    "Fn::Equals": lambda stack, given: (
        str(stack.resolved(given[0])) == str(stack.resolved(given[1]))
    ),
    "Fn::Not": lambda stack, given: not stack.resolved(given[0]),
    "Fn::And": lambda stack, given: all(map(stack.resolved, given)),
    "Fn::Or": lambda stack, given: any(map(stack.resolved, given)),
    "Fn::FindInMap": lambda stack, given: reduce(
        operator.getitem, map(stack.resolved, given[1:]), stack.template["Mappings"][given[0]]
    ),
    "Fn::If": lambda stack, given: stack.resolved(given[1 if stack.is_true(given[0]) else 2]),
    "Fn::Contains": lambda stack, given: stack.resolved(given[1]) in stack.resolved(given[0]),
    "Fn::EachMemberEquals": lambda stack, given: all(
        each == stack.resolved(given[1]) for each in stack.resolved(given[0])
    ),
}

TOPIC = f"arn:aws:sns:us-east-1:{ACCOUNT}:alarms"
CHINAS_TOPIC = f"arn:aws-cn:sns:cn-north-1:{ACCOUNT}:alarms"
ISSUER = "https://issuer.example/users"
OPERATORS = {
    "OperatorIssuer": "https://issuer.example/operators",
    "OperatorClientIds": "console,treasury-ann",
}
OWN_CACHE = {
    "CacheUrl": "rediss://cache.example:6379",
    "CacheSubnetIds": "subnet-0a1b2c3d4e5f67890,subnet-0a1b2c3d4e5f67891",
    "CacheSecurityGroupIds": "sg-0a1b2c3d4e5f67890",
}

HOST_WALLET = {
    "HostWalletUrl": "https://wallet.example/calls",
    "HostWalletSecretArn": f"arn:aws:secretsmanager:us-east-1:{ACCOUNT}:secret:wallet-1",
}
WECHAT = {"WeChatSecretArn": f"arn:aws:secretsmanager:us-east-1:{ACCOUNT}:secret:wechat-1"}

CHAT = {"ChatSecretArn": f"arn:aws:secretsmanager:us-east-1:{ACCOUNT}:secret:chat-1"}

RISK = {
    "RiskUrl": "https://risk.example/ask",
    "RiskSecretArn": f"arn:aws:secretsmanager:us-east-1:{ACCOUNT}:secret:risk-1",
}

STACKS = [
    Stack("dev"),
    Stack("prod", parameters={"Stage": "prod", "AlarmTopicArn": TOPIC}),
    Stack(
        "prod in Singapore",
        "ap-southeast-1",
        {"Stage": "prod", "AlarmTopicArn": TOPIC.replace("us-east-1", "ap-southeast-1")},
    ),
    Stack(
        "prod in China",
        "cn-north-1",
        {"Stage": "prod", "AlarmTopicArn": CHINAS_TOPIC, "JwtIssuer": ISSUER},
    ),
    Stack("dev in China", "cn-northwest-1", {"JwtIssuer": ISSUER}),
    Stack(
        "both gateways",
        parameters={**HOST_WALLET, **WECHAT, **CHAT, "CallbackBaseUrl": "https://a.example"},
    ),
    Stack("a host's wallet, and a given cache", parameters={**HOST_WALLET, **OWN_CACHE}),
    Stack(
        "a given cache in the made VPC",
        parameters={
            "CacheUrl": OWN_CACHE["CacheUrl"],
            "CachePasswordSecretArn": f"arn:aws:secretsmanager:us-east-1:{ACCOUNT}:secret:cache-1",
            "Zones": "us-east-1b,us-east-1d",
        },
    ),
    Stack(
        "gateways called from fixed addresses",
        parameters={**WECHAT, **RISK, "GatewayEgress": "true"},
    ),
    Stack(
        "fixed addresses, and a given cache",
        parameters={**WECHAT, **OWN_CACHE, "GatewayEgress": "true"},
    ),
    Stack(
        "sign-in by WeChat, and a cache that is reached from anywhere",
        parameters={
            **WECHAT,
            "CacheUrl": "redis://cache.example:6379",
            "CacheSubnetIds": "none",
            "JwtIssuer": ISSUER,
            "WeChatIssuerSecretArn": f"arn:aws:secretsmanager:us-east-1:{ACCOUNT}:secret:issuer-1",
            **OPERATORS,
            "WithdrawAboveFen": "30",
            **CHAT,
        },
    ),
    Stack(
        "sign-in by WeChat in China",
        "cn-north-1",
        {
            **{name: value.replace("arn:aws:", "arn:aws-cn:") for name, value in WECHAT.items()},
            "JwtIssuer": ISSUER,
            "WeChatIssuerSecretArn": "arn:aws-cn:secretsmanager:cn-north-1:1:secret:issuer-1",
            **OPERATORS,
        },
    ),
    Stack(
        "a cache that is reached from anywhere",
        parameters={
            "CacheUrl": "rediss://cache.example:6379",
            "CacheSubnetIds": "none",
            "ShareBaseUrl": "https://red.example",
        },
    ),
    Stack("a given cache", parameters={**OWN_CACHE, "JwtIssuer": ISSUER}),
    Stack(
        "a cache with a password",
        parameters={
            **OWN_CACHE,
            "CacheUrl": "rediss://functions@cache.example:6379",
            "CachePasswordSecretArn": f"arn:aws:secretsmanager:us-east-1:{ACCOUNT}:secret:cache-1",
        },
    ),
    Stack(
        "a serverless cache by IAM",
        "eu-central-1",
        {
            **OWN_CACHE,
            "CacheUrl": "rediss://functions@cache.example:6379?cluster",
            "CacheIamResource": "serverlesscache:rush",
        },
    ),
    Stack(
        "kept warm, with a canary",
        parameters={
            "Stage": "prod",
            "AlarmTopicArn": TOPIC,
            "Canary": "true",
            "GrabProvisionedConcurrency": "100",
            "LedgerRating": "50000",
            "TableUnitsMax": "1000000",
            "SelfSignUp": "true",
            "OperatorClientIds": "treasury-ann,audit-bob",
            **RISK,
            **HOST_WALLET,
            "SesIdentityArn": f"arn:aws:ses:us-east-1:{ACCOUNT}:identity/example.com",
        },
    ),
    Stack(
        "a page, with packets in other pages",
        parameters={
            "HostPage": "true",
            "EmbedOrigins": "https://shop.example",
            "AvatarHosts": "faces.example",
            "CoverHosts": "covers.example,*.shop.example",
            "UseSnapStart": "true",
        },
    ),
    Stack(
        "a page of a given issuer, whose operators are in the pool",
        parameters={
            **WECHAT,
            "HostPage": "true",
            "JwtIssuer": ISSUER,
            "PageClientId": "page",
            "ConfirmUrl": "https://host.example/confirm",
            "WeChatAppId": "wx1234567890abcdef",
            "OperatorIssuer": "pool",
        },
    ),
    Stack(
        "a page under a domain",
        parameters={
            "HostPage": "true",
            "ShareBaseUrl": "https://red.example/to",
            "PageCertificateArn": f"arn:aws:acm:us-east-1:{ACCOUNT}:certificate/1",
            "WebAclArn": f"arn:aws:wafv2:us-east-1:{ACCOUNT}:global/webacl/flood/1",
            "OriginKeys": f"{'n' * 43},{'o' * 43}",
            "StagingSecretArn": f"arn:aws:secretsmanager:us-east-1:{ACCOUNT}:secret:staging-1",
        },
    ),
]
"""Stacks that cover both values of each condition, as `test_variants.py` checks."""

STACK_OF = {stack.name: stack for stack in STACKS}
