"""Permissions, retries and retention in template.yaml, compared with the handlers."""

import ast
import importlib.util
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from local.template import read_long_form
from redpacket.fairness.use_cases import extend_log
from redpacket.ledger.provider_name import ProviderName
from redpacket.packets.dynamodb.items import claimer_row, prize_claimer_row, share_row
from redpacket.payments.model.withdrawals import FUNCTION_MS
from redpacket.platform.settings import Settings
from redpacket.platform.time_budget import REQUEST_S
from redpacket.platform.user import User
from redpacket.users.dynamodb.profiles import KNOWN, SHOWN, user_row
from testing.builders import a_claim, a_packet, a_refund
from testing.in_memory_system import TABLES

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "shared" / "redpacket"
HANDLERS = sorted(path.parent.name for path in (ROOT / "functions").glob("*/app.py"))

READS = {"dynamodb:GetItem", "dynamodb:BatchGetItem", "dynamodb:Query", "dynamodb:Scan"}
READS |= {"dynamodb:DescribeStream", "dynamodb:GetRecords", "dynamodb:GetShardIterator"}
READS |= {"dynamodb:ListStreams"}


TEMPLATE = read_long_form()
RESOURCES: dict[str, dict[str, Any]] = TEMPLATE["Resources"]
GLOBALS: dict[str, Any] = TEMPLATE["Globals"]["Function"]


def _of_type(kind: str) -> dict[str, dict[str, Any]]:
    resources = {name: resource for name, resource in RESOURCES.items() if resource["Type"] == kind}
    assert resources, kind
    return {name: resource["Properties"] for name, resource in resources.items()}


FUNCTIONS = _of_type("AWS::Serverless::Function")
MADE_BY_SAM = {
    f"{function}{event}"
    for function, properties in FUNCTIONS.items()
    for event in properties.get("Events", {})
}
each_function = pytest.mark.parametrize("function", FUNCTIONS)


@dataclass(frozen=True)
class Grant:
    """Actions that one statement of a function's role allows, and their resources."""

    actions: frozenset[str]
    resources: tuple[str, ...]

    def is_on(self, resource: str) -> bool:
        return any(name.split(".")[0].split("/")[0] == resource for name in self.resources)


def _names(value: Any) -> Iterator[str]:
    """Yield the resources in a policy's Resource, like "Table" or "Table/index/by_work"."""
    for each in value if isinstance(value, list) else [value]:
        if isinstance(each, str):
            yield each
            continue
        ((function, argument),) = each.items()
        if function == "Fn::GetAtt":
            yield argument[0]
        elif function == "Fn::Sub" and argument[0].startswith("arn:"):
            yield argument[0]  # A literal ARN, which contains an account.
        elif function == "Fn::Sub" and argument.startswith("arn:"):
            yield argument.rpartition("${")[2].removesuffix("}")
        elif function == "Fn::Sub":
            yield argument.replace("${", "").replace(".Arn}", "").replace("}", "")
        else:
            yield str(argument)


SIGN_IN = {"Fn::If": ["CacheSignsIn", {"Ref": "CacheSignIn"}, {"Ref": "AWS::NoValue"}]}
READ_SIGN_IN = {"Fn::If": ["MakeCache", {"Ref": "CacheReadSignIn"}, SIGN_IN]}
"""Shared policies for the cache; tests/contract/test_policies.py checks them."""


GATEWAY_KEYS = {"Fn::If": ["HasGateway", {"Ref": "GatewayKeys"}, {"Ref": "AWS::NoValue"}]}
"""Shared policy for the keys with which three functions sign calls to gateways."""


def _statements(function: str) -> Iterator[dict[str, Any]]:
    for policy in FUNCTIONS[function]["Policies"]:
        if policy in (SIGN_IN, READ_SIGN_IN, GATEWAY_KEYS):
            continue
        for statement in policy["Statement"]:
            # Read the Fn::If's first branch, the statement that exists under the condition.
            yield statement["Fn::If"][1] if "Fn::If" in statement else statement


def _grants(function: str) -> list[Grant]:
    return [
        Grant(frozenset(statement["Action"]), tuple(_names(statement["Resource"])))
        for statement in _statements(function)
    ]


def _actions_on(function: str, resource: str) -> set[str]:
    return {
        action for grant in _grants(function) if grant.is_on(resource) for action in grant.actions
    }


def _function_of(handler: str) -> str:
    return f"{handler.capitalize()}Function"


def _variables(function: str) -> set[str]:
    own = FUNCTIONS[function].get("Environment", {}).get("Variables", {})
    return {*own, *GLOBALS["Environment"]["Variables"]}


# ---------------------------------------------------------------- rights


OF_RUNS = re.compile(
    r"AWS::(StackName|AccountId)\}|ExportBucket|arn:.*:(database|table)/redpacket_\$\{Stack\}_\*"
)


@each_function
def test_a_role_lists_exactly_its_actions_and_resources(function: str) -> None:
    for policy in FUNCTIONS[function]["Policies"]:
        assert isinstance(policy, dict), "no managed policies, and none of SAM's templates"
    for statement in _statements(function):
        assert statement["Effect"] == "Allow"
        assert statement["Sid"]
        assert isinstance(statement["Action"], list)
    for grant in _grants(function):
        assert not any("*" in action for action in grant.actions)
        if set(grant.actions) == {"cloudwatch:GetMetricData", "cloudwatch:ListMetrics"}:
            continue  # IAM can't limit these actions to resources.
        names = grant.resources
        if function == "ReconcileFunction":
            # Leave out the resources of runs, such as databases, whose names are unknown.
            names = tuple(name for name in names if not OF_RUNS.match(name))
        # Picture ids are random, and the bucket contains only pictures.
        names = tuple(name.removesuffix("Bucket/*") for name in names)
        # Only a wildcard can name a table's streams.
        assert not any("*" in name.removesuffix("/stream/*") for name in names)
        named = {name.split("/")[0].removesuffix(".Alias") for name in names} - {"Pictures"}
        # The secret of the WeChat issuer is a parameter that the deployer sets.
        assert named <= RESOURCES.keys() | MADE_BY_SAM | {"WeChatIssuerSecretArn"}


@each_function
def test_no_function_can_delete(function: str) -> None:
    actions = {action for grant in _grants(function) for action in grant.actions}

    # The only exception is the deletion of a processed message.
    assert not re.search("Delete|PartiQL", str(actions - {"sqs:DeleteMessage"}))
    assert _actions_on(function, "PayoutDlq") <= {"sqs:GetQueueAttributes"}


CROWD = ("GrabFunction", "LotteryFunction", "ChatFunction")
"""Functions that claim shares. A thief with their credentials must not be able to create money."""
each_of_the_crowd = pytest.mark.parametrize("function", CROWD)


@each_of_the_crowd
def test_the_public_functions_only_update_shares_and_only_the_attributes_of_a_claim(
    function: str,
) -> None:
    (claim,) = [
        statement
        for statement in _statements(function)
        if "SharesTable" in {name.split("/")[0] for name in _names(statement["Resource"])}
        and set(statement["Action"]) - READS
    ]

    assert claim["Action"] == ["dynamodb:UpdateItem"]
    assert claim["Resource"] == {"Fn::GetAtt": ["SharesTable", "Arn"]}
    assert claim["Condition"].keys() == {"ForAllValues:StringEquals"}
    ((key, allowed),) = claim["Condition"]["ForAllValues:StringEquals"].items()
    assert key == "dynamodb:Attributes"
    assert len(allowed) == len(set(allowed))
    # Only ChatFunction may write a claim's chat, because settlements trust this attribute.
    in_chat = "telegram:-1" if function == "ChatFunction" else None
    assert set(allowed) == _written_by_a_claim(in_chat)


def _written_by_a_claim(chat_id: str | None = None) -> set[str]:
    """Return the attributes of all rows that a claim may write, with every optional value."""
    packet, claimer = a_packet(), User("ann", "Ann", "ann@host", chat_id=chat_id)
    claim = replace(a_claim(packet, 1, "ann", claimer=claimer, is_last=True), via="bob")
    rows = [share_row(claim), claimer_row(claim, "ann"), prize_claimer_row(claim, "ann")]
    return {name for row in rows for name in row}


def test_settlements_and_refunds_write_other_attributes_than_a_claim() -> None:
    refund = share_row(a_refund(a_packet(), 1))

    assert "settled_at_ms" not in _written_by_a_claim()
    assert refund.keys() - _written_by_a_claim() == {"refund_no"}


NOTES = [*("SendFunction", "LotteryFunction", "CampaignFunction", "PrizeFunction", "AdminFunction")]
"""Functions that by default may only update the attributes of `user_row`; *expected* overrides some
of them.
"""


@each_function
def test_each_function_uses_only_the_attributes_that_it_needs_of_the_row_of_a_user(
    function: str,
) -> None:
    names = user_row(User("ann", "Ann", "ann@host")).keys()
    # A write reads erased_at_ms to refuse data from before an erasure.
    since = names | {"erased_at_ms"}
    shown = set(SHOWN.split(", "))
    own = shown | {"goods_address"}
    allowed = {
        action: set(grant["Condition"]["ForAllValues:StringEquals"]["dynamodb:Attributes"])
        for grant in _statements(function)
        if "ProfilesTable" in {name.split("/")[0] for name in _names(grant["Resource"])}
        for action in grant["Action"]
    }
    changes = "dynamodb:UpdateItem"

    reads = "dynamodb:BatchGetItem"
    expected = {
        **{key: {changes: names} for key in NOTES},
        "LotteryFunction": {changes: names, reads: {"pk", "erased_at_ms"}},
        # Operators who deliver a prize need the winner's host id.
        "AdminFunction": {changes: names, reads: {*KNOWN.split(", "), "goods_address"}},
        "PaymentFunction": {changes: since, reads: set(KNOWN.split(", "))},
        "PayoutFunction": {changes: since, reads: names},
        "ErasureFunction": {changes: since | own},
        "ApprovalFunction": {reads: set(KNOWN.split(", "))},
        "ProfileFunction": {changes: own, reads: own},
        "CampaignFunction": {changes: names, reads: shown},
        "ChatFunction": {changes: names, reads: shown},
        "RecordsFunction": {reads: shown},
        "DeliverFunction": {reads: {"pk", "host_id"}},
    }

    assert allowed == expected.get(function, {})
    # Functions that show users to each other may not read host ids. GrabFunction, which is not in
    # *expected*, may not even read profiles.
    assert "host_id" not in shown


def test_only_sends_call_lambda_and_only_a_function_without_routes() -> None:
    on_lambda = [
        (function, grant.resources)
        for function in FUNCTIONS
        for grant in _grants(function)
        if any(action.startswith("lambda:") for action in grant.actions)
    ]
    assert on_lambda == [("SendFunction", ("OrderFunction.Alias",))]
    # A route trusts the caller that its event names, so only API Gateway may create the event.
    assert "OrderFunction" not in _routes().values()
    assert _handler("order").operations == {}


@each_function
def test_no_function_scans_a_table(function: str) -> None:
    assert not any("dynamodb:Scan" in grant.actions for grant in _grants(function))


RECEIVED_BY = ("DeliverFunction", "WebhooksFunction")
"""Functions that post to webhooks."""

GATEWAY_FUNCTIONS = ("PaymentFunction", "OrderFunction", "GatewayFunction", "TransferFunction")


@each_function
def test_only_functions_that_call_gateways_can_read_their_keys(function: str) -> None:
    has_keys = GATEWAY_KEYS in FUNCTIONS[function]["Policies"]
    secrets = {
        name
        for grant in _grants(function)
        if "secretsmanager:GetSecretValue" in grant.actions
        for name in grant.resources
    }

    # Strangers can reach GatewayFunction, so its variables have keys for verification, not for
    # signing.
    assert has_keys == (function in set(GATEWAY_FUNCTIONS) - {"GatewayFunction"})
    assert secrets == {
        "PaymentFunction": {"PayeeKeys", "WeChatIssuerSecretArn"},
        "OrderFunction": {"PayeeKeys"},
        "TransferFunction": {"PayeeKeys"},
        "DeliverFunction": {"WebhookKeys"},
        "WebhooksFunction": {"WebhookKeys"},
    }.get(function, set())


@pytest.mark.parametrize("function", GATEWAY_FUNCTIONS)
def test_functions_that_call_gateways_end_in_time(function: str) -> None:
    assert FUNCTIONS[function].get("Timeout", GLOBALS["Timeout"]) * 1000 <= FUNCTION_MS


def test_rows_about_money_never_expire() -> None:
    expiring = {
        name: table["TimeToLiveSpecification"]["AttributeName"]
        for name, table in _of_type("AWS::DynamoDB::Table").items()
        if "TimeToLiveSpecification" in table
    }
    adapters = sorted(PACKAGE.glob("*/dynamodb/*.py"))
    writers = {f"{path.parts[-3]}.{path.stem}": path.read_text() for path in adapters}
    counts = {name: text.count("expires_at_s") for name, text in writers.items()}

    # These rows expire: records of callbacks, daily payment counts, ended consents, gateway
    # accounts of erased users, sums that an operator moved in a day, deliveries, codes, users'
    # notices, cards and hints in chats, and the daily sums that chats sent.
    tables = ("PaymentsTable", "ApprovalsTable", "WebhooksTable", "CodesTable", "AudienceTable")
    expected = {
        "chat.chat_funding": 3,
        "chat.chats": 3,
        "chat.keys": 1,
        "operations.allowances": 2,
        "payments.authorizations": 1,
        "erasure.erasure": 2,
        "payments.payments": 2,
        "events.webhooks": 3,
        "lottery.codes": 1,
        "users.notices": 6,
    }
    assert expiring == dict.fromkeys((*tables, "ChatTable"), "expires_at_s")
    assert {name: count for name, count in counts.items() if count} == expected


# ---------------------------------------------------------------- retention


@each_function
def test_each_function_has_its_own_log_group_with_a_retention_period(function: str) -> None:
    log_group = FUNCTIONS[function]["LoggingConfig"]["LogGroup"]["Ref"]

    assert log_group == function.replace("Function", "Logs")
    assert RESOURCES[log_group]["Type"] == "AWS::Logs::LogGroup"
    assert _of_type("AWS::Logs::LogGroup")[log_group]["RetentionInDays"]


KEPT = ("RetainExceptOnCreate", "Retain")


@pytest.mark.parametrize("table", _of_type("AWS::DynamoDB::Table"))
def test_a_table_outlives_its_stack_and_can_be_restored(table: str) -> None:
    resource = RESOURCES[table]

    assert resource["Properties"]["DeletionProtectionEnabled"] == {
        "Fn::If": ["IsProd", True, False]
    }
    assert (resource["DeletionPolicy"], resource["UpdateReplacePolicy"]) == KEPT
    recovery = resource["Properties"]["PointInTimeRecoverySpecification"]
    assert recovery["PointInTimeRecoveryEnabled"] is True
    assert resource["Properties"]["BillingMode"] == "PAY_PER_REQUEST"
    assert resource["Properties"]["SSESpecification"]["SSEEnabled"] is True


def test_a_packet_id_key_is_retained_and_has_no_key_separator() -> None:
    resource = RESOURCES["PacketIdKey"]
    made = resource["Properties"]["GenerateSecretString"]

    assert (resource["DeletionPolicy"], resource["UpdateReplacePolicy"]) == KEPT
    assert made["PasswordLength"] >= 32
    # The emulator ignores ExcludePunctuation.
    assert set(",:") <= set(made["ExcludeCharacters"])
    assert TEMPLATE["Parameters"]["PreviousPacketIdKeys"]["NoEcho"] is True


_COMPUTES = (
    "Send Grab Payout Expire Records Campaign Lottery Admin Approval Reconcile Payment Order "
    "Transfer Chat"
)
"""Functions that commit to, compute, prove or audit amounts and draws."""


def test_only_functions_that_compute_amounts_have_the_keys_of_seeds() -> None:
    having = {
        name
        for name, function in FUNCTIONS.items()
        if "SEED_KEYS" in function["Environment"]["Variables"]
    }

    assert having == {f"{name}Function" for name in _COMPUTES.split()}
    resource = RESOURCES["SeedKeys"]
    made = resource["Properties"]["GenerateSecretString"]
    assert (resource["DeletionPolicy"], resource["UpdateReplacePolicy"]) == KEPT
    # The secret is a JSON map from versions to keys that starts with version 1.
    assert (made["SecretStringTemplate"], made["GenerateStringKey"]) == ("{}", "1")
    assert made["PasswordLength"] >= 32


def test_a_full_cache_refuses_writes_instead_of_evicting() -> None:
    (parameters,) = _of_type("AWS::ElastiCache::ParameterGroup").values()

    assert parameters["Properties"]["maxmemory-policy"] == "noeviction"


def test_the_user_of_the_cache_has_only_commands() -> None:
    users = _of_type("AWS::ElastiCache::User").values()
    words = {word for user in users for word in user["AccessString"].split()}

    # tests/contract/test_cache_user.py checks the commands. A command category would also allow
    # unneeded commands.
    assert len(users) == 2
    assert not [word for word in words if word.startswith("+@")]
    assert "-@all" in words


def test_no_dependency_is_declared_twice() -> None:
    for name, resource in RESOURCES.items():
        needed = resource.get("DependsOn", [])
        assert isinstance(needed, str) or len(needed) == len(set(needed)), name


# ---------------------------------------------------------------- the queue


def _function_at(alias: Any) -> str:
    """Return the function that an alias reference names."""
    ((intrinsic, name),) = alias.items()
    assert intrinsic == "Ref"
    function, _, attribute = name.partition(".")
    assert attribute == "Alias", "what is published is what is called"
    return str(function)


def _queue_sources() -> list[tuple[str, dict[str, Any]]]:
    return [
        (_function_at(source["FunctionName"]), source)
        for source in _of_type("AWS::Lambda::EventSourceMapping").values()
        if source["EventSourceArn"]["Fn::GetAtt"][1] == "Arn"
    ]


def test_a_batch_returns_only_the_failed_messages() -> None:
    sources = _queue_sources()

    assert sources
    for _, source in sources:
        assert source["FunctionResponseTypes"] == ["ReportBatchItemFailures"]


def test_a_message_is_hidden_for_six_times_the_timeout_of_its_function() -> None:
    for function, source in _queue_sources():
        queue = RESOURCES[source["EventSourceArn"]["Fn::GetAtt"][0]]["Properties"]
        timeout_s = FUNCTIONS[function].get("Timeout", GLOBALS["Timeout"])

        assert queue["VisibilityTimeout"] == 6 * timeout_s


DAY_S = 86_400

STREAMED = {
    "AnnouncePackets": "NEW_AND_OLD_IMAGES",
    "AnnounceShares": "NEW_AND_OLD_IMAGES",
    "AnnounceDraws": "NEW_AND_OLD_IMAGES",
    "AnnouncePayments": "NEW_AND_OLD_IMAGES",
    # AnnounceFunction reports only the key of an altered row.
    "AnnounceJournal": "KEYS_ONLY",
    # The images show whether a change is a decision, which is allowed, or tampering.
    "AnnounceApprovals": "NEW_AND_OLD_IMAGES",
}
"""Event sources of AnnounceFunction, with the images that each stream contains."""


def test_a_record_cannot_block_its_stream_and_none_is_lost_silently() -> None:
    sources = _of_type("AWS::Lambda::EventSourceMapping")
    streams = {
        name: source
        for name, source in sources.items()
        if source["EventSourceArn"]["Fn::GetAtt"][1] == "StreamArn" and name != "LogCommitments"
    }

    assert streams.keys() == STREAMED.keys()
    for name, source in streams.items():
        assert _function_at(source["FunctionName"]) == "AnnounceFunction"
        table = RESOURCES[source["EventSourceArn"]["Fn::GetAtt"][0]]["Properties"]
        assert table["StreamSpecification"] == {"StreamViewType": STREAMED[name]}
        assert source["BisectBatchOnFunctionError"] is True
        # This is half of a stream's retention. Operators can replay records in the other half.
        assert source["MaximumRecordAgeInSeconds"] == 43_200
        aside = {"Fn::GetAtt": ["UnreadRecords", "Arn"]}
        assert source["DestinationConfig"]["OnFailure"]["Destination"] == aside
        is_watched = name in {"AnnounceJournal", "AnnounceApprovals"}
        patterns = [] if is_watched else source["FilterCriteria"]["Filters"]
        for each in patterns:
            pattern = json.loads(each["Pattern"])
            is_removal = pattern.get("eventName") == ["REMOVE"]
            parts = {"Keys"} if is_removal else {"Keys", "NewImage"}
            assert pattern["dynamodb"].keys() == parts


def test_the_stream_of_commitments_triggers_the_function_and_the_schedule_finds_the_rest() -> None:
    source = _of_type("AWS::Lambda::EventSourceMapping")["LogCommitments"]
    rule = RESOURCES["LogEveryMinute"]["Properties"]
    key = RESOURCES["LogKey"]

    # Entries reach the public log within five seconds. A failed batch stays in the work list.
    assert source["MaximumBatchingWindowInSeconds"] <= 3
    assert source["MaximumRetryAttempts"] <= 2
    (wanted,) = source["FilterCriteria"]["Filters"]
    assert json.loads(wanted["Pattern"]) == {"eventName": ["INSERT"]}
    assert rule["ScheduleExpression"] == "rate(1 minute)"
    assert "State" not in rule
    assert FUNCTIONS["LogFunction"]["Timeout"] * 1000 > 2 * extend_log.RESERVE_MS
    assert "VpcConfig" not in FUNCTIONS["LogFunction"]
    assert (key["DeletionPolicy"], key["UpdateReplacePolicy"]) == KEPT
    signs = {"KeySpec": "ECC_NIST_EDWARDS25519", "KeyUsage": "SIGN_VERIFY"}
    assert key["Properties"].items() >= signs.items()


@pytest.mark.parametrize(
    "name", ["UnreadRecords", "DeliveryDlq", "CardDlq", "PayoutDlq", "NoticeDlq"]
)
def test_failed_work_waits_where_an_alarm_counts_it(name: str) -> None:
    queues = _of_type("AWS::SQS::Queue")
    watched = [
        alarm["Dimensions"][0]["Value"]
        for alarm in _of_type("AWS::CloudWatch::Alarm").values()
        if "Dimensions" in alarm
    ]

    assert {"Fn::GetAtt": [name, "QueueName"]} in watched
    # In a standard queue, a dead letter's age counts from its first send, so keep it longer.
    assert queues[name]["MessageRetentionPeriod"] == 14 * DAY_S
    if name.endswith("Dlq"):
        source = queues[name.replace("Dlq", "Queue")]
        redrive = source["RedrivePolicy"]
        assert redrive["deadLetterTargetArn"] == {"Fn::GetAtt": [name, "Arn"]}
        assert redrive["maxReceiveCount"] == (50 if name in {"DeliveryDlq", "CardDlq"} else 5)
        assert source["MessageRetentionPeriod"] == 4 * DAY_S


# ---------------------------------------------------------------- routes and handlers


@cache
def _handler(handler: str) -> Any:
    """Load a handler by its path, as Lambda does, because all handlers are modules named app."""
    spec = importlib.util.spec_from_file_location(
        f"handler_{handler}", ROOT / "functions" / handler / "app.py"
    )
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.handler


def _routes() -> dict[str, str]:
    """Return the function of each route in the template."""
    integrations = _of_type("AWS::ApiGatewayV2::Integration")
    return {
        route["RouteKey"]: _function_at(
            integrations[route["Target"]["Fn::Sub"][len("integrations/${") : -1]]["IntegrationUri"]
        )
        for route in _of_type("AWS::ApiGatewayV2::Route").values()
    }


def test_every_handler_has_a_function_and_every_function_a_handler() -> None:
    assert {_function_of(handler) for handler in HANDLERS} == FUNCTIONS.keys()
    for handler in HANDLERS:
        assert FUNCTIONS[_function_of(handler)]["CodeUri"] == f"functions/{handler}/"


def test_every_route_leads_to_the_handler_that_answers_it() -> None:
    answered = {
        key: _function_of(handler)
        for handler in HANDLERS
        for key in getattr(_handler(handler), "operations", [])
    }

    assert _routes() == answered


def test_the_gateway_requires_the_token_that_the_handler_declares() -> None:
    declared = {
        key: ("NONE" if operation.is_public else "JWT", operation.scopes)
        for handler in HANDLERS
        for key, operation in getattr(_handler(handler), "operations", {}).items()
    }

    authorizations = {
        route["RouteKey"]: (route["AuthorizationType"], tuple(route.get("AuthorizationScopes", [])))
        for route in _of_type("AWS::ApiGatewayV2::Route").values()
    }

    assert authorizations == declared


def test_the_gateway_may_call_the_function_of_every_route() -> None:
    permitted = {
        _function_at(permission["FunctionName"])
        for permission in _of_type("AWS::Lambda::Permission").values()
        if permission["Principal"] == "apigateway.amazonaws.com"
    }

    assert permitted == set(_routes().values())


# A packet's id is the secret that opens the packet's feed. Responses that are the same for all
# users may be cached.
OPEN_ROUTES = {"GET /health", "GET /packets/{packet_id}/feed", "GET /campaigns/{campaign_id}"}
OPEN_ROUTES |= {"GET /packets/{packet_id}/preview", "GET /pictures/{picture_id}"}
# The log is public.
OPEN_ROUTES |= {"GET /transparency", "GET /transparency/proof", "GET /transparency/consistency"}
OPEN_ROUTES |= {"GET /transparency/checkpoint", "GET /transparency/tile/{proxy+}"}
# The response signs only an address of our own page, and contains no secret.
OPEN_ROUTES |= {"GET /wechat/js-config"}
# Each of these routes checks its requests itself, by a single-use code, a signature or a secret.
# The list is literal, so that a new provider cannot open a route for itself.
SIGNED_ROUTES = {
    "POST /auth/wechat",
    "POST /gateway/wechat/callback",
    "POST /gateway/host/callback",
    "POST /chat/telegram",
    "POST /chat/lark",
}


def test_every_route_but_the_public_ones_needs_a_token_and_operator_routes_a_scope() -> None:
    for route in _of_type("AWS::ApiGatewayV2::Route").values():
        key, scopes = route["RouteKey"], route.get("AuthorizationScopes", [])
        assert ("hongbao/admin" in scopes) == (" /admin/" in key), key
        if key in OPEN_ROUTES | SIGNED_ROUTES:
            assert route["AuthorizationType"] == "NONE"
            continue
        assert route["AuthorizationType"] == "JWT", key
        authorizer = "OperatorAuthorizer" if " /admin/" in key else "UserAuthorizer"
        assert route["AuthorizerId"] == {"Ref": authorizer}


def test_the_user_pool_has_every_scope_that_a_route_requires() -> None:
    (server,) = _of_type("AWS::Cognito::UserPoolResourceServer").values()
    scopes = {f"{server['Identifier']}/{scope['ScopeName']}" for scope in server["Scopes"]}
    routes = _of_type("AWS::ApiGatewayV2::Route").values()

    assert scopes == {scope for route in routes for scope in route.get("AuthorizationScopes", [])}


def test_every_route_is_throttled_and_expensive_or_public_ones_more_strictly() -> None:
    (stage,) = _of_type("AWS::ApiGatewayV2::Stage").values()
    (resource,) = [
        resource for resource in RESOURCES.values() if resource.get("Properties") is stage
    ]
    throttles = {
        key: settings["Fn::If"][1] if "Fn::If" in settings else settings
        for key, settings in stage["RouteSettings"].items()
    }
    routes = _of_type("AWS::ApiGatewayV2::Route")
    keys = {route["RouteKey"]: name for name, route in routes.items()}
    own = {key for key in keys if "/admin/" in key} | {"POST /packets"} | OPEN_ROUTES
    own |= SIGNED_ROUTES
    own |= {key for key in keys for provider in ProviderName if f"/me/{provider}" in key}
    # Functions outside the VPC have no cache, so they can't limit each user.
    own |= {
        key
        for key, function in _routes().items()
        if key.startswith("GET /me") and "VpcConfig" not in FUNCTIONS[function]
    }

    for settings in [stage["DefaultRouteSettings"], *throttles.values()]:
        assert settings.keys() == {"ThrottlingBurstLimit", "ThrottlingRateLimit"}
    assert own <= throttles.keys(), "an operators' route needs a line in the stage's RouteSettings"
    assert throttles.keys() <= keys.keys()
    # Without DependsOn, CloudFormation would look for the routes before they exist.
    waits_for = {*resource["DependsOn"], *re.findall(r"\$\{(\w+)", str(stage["Description"]))}
    assert {keys[key] for key in throttles} <= waits_for


@pytest.mark.parametrize("function", sorted(set(_routes().values())))
def test_a_function_times_out_before_the_gateway(function: str) -> None:
    if function == "ReconcileFunction":
        return  # The long timeout is for runs' audits. Calls from the API gateway are short.
    assert FUNCTIONS[function].get("Timeout", GLOBALS["Timeout"]) < 30


@each_function
def test_each_function_that_needs_the_cache_can_reach_it(function: str) -> None:
    is_with_cache = "InVpc" in str(FUNCTIONS[function].get("VpcConfig"))
    assert ("CACHE_URL" in _variables(function)) == is_with_cache


@each_function
def test_only_functions_that_issue_or_load_write_to_the_cache(function: str) -> None:
    variables = FUNCTIONS[function].get("Environment", {}).get("Variables", {})
    policies, url = FUNCTIONS[function]["Policies"], str(variables.get("CACHE_URL"))

    is_reader = function in {"RecordsFunction", "ProfileFunction"}
    assert (READ_SIGN_IN in policies) == ("ReadersUser" in url) == is_reader
    assert (SIGN_IN in policies) == ("FunctionsUser" in url)


# ---------------------------------------------------------------- imports and variables of handlers


@each_function
def test_functions_have_only_the_layers_that_they_need(function: str) -> None:
    needed = {
        "GrabFunction": [{"Ref": "PassphraseLayer"}],
        "LotteryFunction": [{"Ref": "PassphraseLayer"}],
        "ChatFunction": [{"Ref": "PassphraseLayer"}, {"Ref": "PaymentsLayer"}],
        **{name: [{"Ref": "PaymentsLayer"}] for name in (*GATEWAY_FUNCTIONS, *RECEIVED_BY)},
    }

    assert GLOBALS["Layers"] == [{"Ref": "SharedLayer"}]
    assert FUNCTIONS[function].get("Layers", []) == needed.get(function, [])


ADAPTERS = {"dynamodb", "redis", "clients", "providers"}


@pytest.mark.parametrize("handler", HANDLERS)
def test_a_handler_imports_neither_adapters_nor_libraries(handler: str) -> None:
    tree = ast.parse((ROOT / "functions" / handler / "app.py").read_text())
    imported = {
        name
        for node in ast.walk(tree)
        for name in (
            [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else ["." * node.level + (node.module or "")]
            if isinstance(node, ast.ImportFrom)
            else []
        )
    }

    for name in imported:
        package, *folders = name.split(".")
        is_ours = package == "redpacket" and ADAPTERS.isdisjoint(folders)
        assert is_ours or package in sys.stdlib_module_names, name


def _module_of(path: Path) -> str:
    return _short("redpacket." + ".".join(path.relative_to(PACKAGE).with_suffix("").parts))


def _short(module: str) -> str:
    """Return the name of the shared object that *module* creates, or else *module*."""
    if module.startswith("redpacket.containers."):
        return module.rpartition(".")[2]
    if module.endswith(".setup"):
        return module.split(".")[-2]  # a provider
    return module.rpartition(".")[2] if module.endswith(("settings", "request")) else module


Spot = tuple[str, str]
"""Function, class or method, as the name of its module or handler and its own name. Handlers share
one set of containers, settings and request.
"""
PROVIDERS = [path.parent.name for path in (PACKAGE / "payments" / "providers").glob("*/setup.py")]
OBJECTS = (
    "settings",
    "request",
    *PROVIDERS,
    *(path.stem for path in (PACKAGE / "containers").glob("[!_]*.py")),
)


REGISTRY = "providers", "providers"
PASSED_ON: dict[Spot, Spot] = {
    ("environment", "accounts"): ("providers", "_accounts"),
    ("environment", "http"): ("providers", "_http"),
}
"""Methods that the registry passes to providers, keyed by the names that providers call."""


class _Readers:
    """Tracer that follows calls to find the readers of each environment variable."""

    def __init__(self) -> None:
        places = ["*/api/*.py", "platform/http/*.py", "containers/*.py", "platform/*.py"]
        places += ["payments/providers/*/setup.py", "payments/providers/*/settings.py"]
        paths = [(_module_of(path), path) for place in places for path in PACKAGE.glob(place)]
        paths += [(handler, ROOT / "functions" / handler / "app.py") for handler in HANDLERS]
        paths += [("payment", path) for path in PACKAGE.glob("payments/providers/*/api.py")]
        trees = [(name, ast.parse(path.read_text())) for name, path in paths]
        self._bodies: dict[Spot, ast.AST] = {
            (module, node.name): node
            for module, tree in trees
            for node in [*tree.body, *self._methods(module, tree)]
            if isinstance(node, ast.FunctionDef | ast.ClassDef)
            and not (module in OBJECTS and isinstance(node, ast.ClassDef))
        }
        self._bodies |= {
            ("settings", node.targets[0].id): node.value
            for module, tree in trees
            for node in self._methods(module, tree)
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
        }
        self._imported: dict[Spot, Spot] = {
            (module, alias.asname or alias.name): (_short(node.module), alias.name)
            for module, tree in trees
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("redpacket.")
            for alias in node.names
            if node.module
        }

    @staticmethod
    def _methods(module: str, tree: ast.Module) -> Iterator[ast.stmt]:
        """Yield the methods of a shared object, because only its own module uses the class's
        name.
        """
        for node in tree.body if module in OBJECTS else []:
            if isinstance(node, ast.ClassDef):
                yield from node.body

    def variables_of(self, handler: str) -> set[str]:
        """Return the environment variables that a handler's routes and helpers read."""
        spots = [spot for spot in self._bodies if spot[0] == handler]
        seen: set[Spot] = set()
        needed: set[str] = set()
        while spots:
            spot = spots.pop()
            if spot[0] == "provider":  # This may be any registered provider.
                spots += [(provider, spot[1]) for provider in PROVIDERS]
            if spot in seen or spot not in self._bodies:
                continue
            seen.add(spot)
            if spot[0] == "settings":
                needed |= self._constants(spot)
            spots += self._used_by(spot)
            if spot == REGISTRY:  # Follow the providers' calls instead.
                spots = [spot for spot in spots if spot not in PASSED_ON.values()]
            spots = [PASSED_ON.get(spot, spot) for spot in spots]
        return needed

    def _used_by(self, spot: Spot) -> Iterator[Spot]:
        module = spot[0]
        for node in ast.walk(self._bodies[spot]):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                of = node.value.id
                where = self._imported.get((module, of), ("", of))
                # Members that a container doesn't define are the platform's.
                own = module if (module, node.attr) in self._bodies else "platform"
                yield (own if of == "self" else _short(".".join(where).strip("."))), node.attr
            elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Attribute):
                yield node.value.attr, node.attr  # self.settings.packets_table
            elif isinstance(node, ast.Name):
                yield self._imported.get((module, node.id), (module, node.id))

    def _constants(self, spot: Spot) -> set[str]:
        """Return the names of the variables that a method of the settings reads."""
        return {
            node.value
            for node in ast.walk(self._bodies[spot])
            if isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and node.value.isupper()
            and " " not in node.value
        }


_readers = cache(_Readers)


@pytest.mark.parametrize("handler", HANDLERS)
def test_a_function_gets_exactly_the_variables_that_its_handler_reads(handler: str) -> None:
    function = _function_of(handler)
    # Lambda sets the AWS_ variables. These two exist only on a local machine.
    given = {"SSL_CERT_FILE", "SIMULATOR_URL"}
    needed = {
        name for name in _readers().variables_of(handler) if not name.startswith("AWS_")
    } - given
    read_by_libraries = {"POWERTOOLS_SERVICE_NAME", "LOG_LEVEL", "RES_OPTIONS"}
    own = set(FUNCTIONS[function]["Environment"]["Variables"]) - read_by_libraries

    assert needed <= _variables(function)
    assert own <= needed


def test_an_unanswered_name_lookup_keeps_a_request_within_ten_seconds() -> None:
    options = dict(
        word.split(":") for word in GLOBALS["Environment"]["Variables"]["RES_OPTIONS"].split()
    )
    # With a search domain, the resolver makes a second lookup.
    lookup_s = 2 * int(options["timeout"]) * int(options["attempts"])

    assert REQUEST_S + lookup_s < 10


@pytest.mark.parametrize("function", ["TransferFunction", "DeliverFunction"])
def test_a_lost_network_packet_fails_no_background_call(function: str) -> None:
    assert "attempts:2" in FUNCTIONS[function]["Environment"]["Variables"]["RES_OPTIONS"]


@each_function
def test_an_optional_parameter_stops_no_function(function: str) -> None:
    variables = FUNCTIONS[function].get("Environment", {}).get("Variables", {})
    empty = {
        name: ""
        for name, value in variables.items()
        if isinstance(value, dict)
        and TEMPLATE["Parameters"].get(value.get("Ref"), {}).get("Default") == ""
    }

    Settings(empty).check()


def test_only_containers_of_payments_import_libraries_of_other_layers() -> None:
    script = """
import importlib, sys
sys.modules |= dict.fromkeys(("cryptography", "jwt", "standardwebhooks", "pypinyin"))
for name in sys.argv[1:]:
    importlib.import_module(f"redpacket.containers.{name}")
"""
    names = {path.stem for path in (PACKAGE / "containers").glob("[!_]*.py")}
    names -= {"payments"}
    done = subprocess.run(
        [sys.executable, "-c", script, *sorted(names)],
        cwd=ROOT,
        env={"PYTHONPATH": str(ROOT / "shared"), "TABLES": TABLES},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr


def test_a_grab_imports_no_passphrase_library_before_it_compares_one() -> None:
    script = """
import importlib.util, sys
spec = importlib.util.spec_from_file_location("handler", "functions/grab/app.py")
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
from redpacket.containers import containers
from testing.in_memory_system import InMemorySystem
system = InMemorySystem()
packet = system.send()
system.grab(packet, "ann")
containers.packets.phrases
loaded = {name.partition(".")[0] for name in sys.modules}
assert not loaded & {"opencc", "pypinyin", "rapidfuzz"}, loaded
containers.packets.phrases.similarity("a", "b")
containers.packets.phrases.simplified("發財")
loaded = {name.partition(".")[0] for name in sys.modules}
assert loaded >= {"opencc", "pypinyin", "rapidfuzz"}
"""
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=ROOT,
        env={"PYTHONPATH": f"{ROOT / 'shared'}:{ROOT}", "TABLES": TABLES},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr


def test_a_failed_run_drops_its_databases_and_a_remaining_one_fails_no_run() -> None:
    states = RESOURCES["ReconcileMachine"]["Properties"]["Definition"]["States"]
    works = {"Task", "Map"}

    caught = {name for name, state in states.items() if "Catch" in state}

    assert caught == {name for name in states if states[name]["Type"] in works}
    afterwards = {"DropDatabases": "CountLeft", "CountLeft": "HasFailed"}
    for name in caught:
        assert states[name]["Catch"][0]["Next"] == afterwards.get(name, "DropDatabases")
    # If a run that started from an earlier run's export fails, it starts again with a full export
    # and new databases.
    again, failed = states["HasFailed"]["Choices"]
    assert (again["Next"], failed["Next"]) == ("Look", "Failed")
    assert again["Assign"]["is_full"] is True
    assert again["Assign"]["look"] == "{% $look + 1 %}"
