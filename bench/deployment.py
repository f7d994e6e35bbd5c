"""Values in template.yaml that cause or limit costs."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

LOG_EVENT_BYTES = 26
"""Bytes that CloudWatch counts for each line, in addition to its text."""

# JSON lines that Lambda logs for each invocation, unless SystemLogLevel is above INFO.
PLATFORM_LINES = (
    (
        '{"time":"2027-01-29T12:00:00.000Z","type":"platform.start","record":'
        '{"requestId":"8b133862-5331-4ded-ac5d-1ad5da5aee81","version":"$LATEST"}}'
    ),
    (
        '{"time":"2027-01-29T12:00:00.015Z","type":"platform.report","record":'
        '{"requestId":"8b133862-5331-4ded-ac5d-1ad5da5aee81","metrics":{"durationMs":14.412,'
        '"billedDurationMs":15,"memorySizeMB":1024,"maxMemoryUsedMB":96},"status":"success"}}'
    ),
)
# Sample values of the variables in the template's access log format.
ACCESS_VALUES = {
    "$context.requestId": "JKJaXmPLvHcESHA=",
    "$context.routeKey": "POST /packets/{packet_id}/grab",
    "$context.status": "410",
    "$context.integration.status": "410",
    "$context.responseLatency": "17",
    "$context.integrationErrorMessage": "-",
}


@dataclass(frozen=True, slots=True)
class Deployment:
    """Settings of the functions and their logs in the template."""

    architecture: str
    grab_gb: float
    payout_gb: float
    records_gb: float
    batch_size: int
    grab_log_bytes: int
    record_log_bytes: int


def deployment_of(template: Mapping[str, Any]) -> Deployment:
    """Read the values that affect costs from the template."""
    common = template["Globals"]["Function"]
    resources = template["Resources"]

    def gigabytes(name: str) -> float:
        own = resources[name]["Properties"].get("MemorySize", common["MemorySize"])
        return int(own) / 1024

    payouts = resources["PayoutFunctionClaims"]["Properties"]
    access = access_format(template)

    def logged(name: str) -> int:
        logging = resources[name]["Properties"]["LoggingConfig"]
        return log_bytes(access, logging.get("SystemLogLevel", "INFO"))

    return Deployment(
        architecture=template["Parameters"]["Architecture"]["Default"],
        grab_gb=gigabytes("GrabFunction"),
        payout_gb=gigabytes("PayoutFunction"),
        records_gb=gigabytes("RecordsFunction"),
        batch_size=payouts["BatchSize"],
        grab_log_bytes=logged("GrabFunction"),
        record_log_bytes=logged("RecordsFunction"),
    )


def access_format(template: Mapping[str, Any]) -> str:
    """Return the format of the line that the API logs for each request."""
    stage = template["Resources"]["ApiStage"]["Properties"]
    return str(stage["AccessLogSettings"]["Format"])


def log_bytes(access: str, system_level: str) -> int:
    """Return the bytes that a request adds to logs. The code of a successful grab logs nothing."""
    for name, value in ACCESS_VALUES.items():
        access = access.replace(name, value)
    lines = [access, *(PLATFORM_LINES if system_level in {"DEBUG", "INFO"} else ())]
    return sum(len(line.encode()) + LOG_EVENT_BYTES for line in lines)


TABLES = {
    "accounts": "AccountsTable",
    "packets": "PacketsTable",
    "shares": "SharesTable",
    "quotas": "QuotasTable",
}
"""Tables that claims and settlements write, keyed by their names in memory."""


def indexes_of(template: Mapping[str, Any]) -> dict[str, dict[str, list[str]]]:
    """Return the key attributes of each index, keyed by table."""
    return {
        table: {
            index["IndexName"]: [key["AttributeName"] for key in index["KeySchema"]]
            for index in template["Resources"][name]["Properties"].get("GlobalSecondaryIndexes", [])
        }
        for table, name in TABLES.items()
    }


RATINGS = ("5000", "10000", "50000")


def ledger_of(template: Mapping[str, Any], rating: str = RATINGS[0]) -> dict[str, int]:
    """Return the ledger's sizes for a LedgerRating: shards, concurrent payouts, and warm units."""
    row = template["Mappings"]["Ledgers"][rating]
    return {name: int(value) for name, value in row.items()}


def sweeps_of(template: Mapping[str, Any], rating: str = RATINGS[0]) -> int:
    """Return the number of sweeps that start every minute, each for a group of shards."""
    return sum(
        len(rule["Properties"]["Targets"])
        for name, rule in template["Resources"].items()
        if name.startswith(("ExpireFunctionEvery", "SweepMore"))
        and rule["Type"] == "AWS::Events::Rule"
        and ("Condition" not in rule or rating == RATINGS[-1])
    )


POLLERS = 5
"""Lambda's minimum number of pollers for a queue."""


@dataclass(frozen=True, slots=True)
class Standing:
    """Resources of a stack with its own cache and VPC that cost money when idle."""

    endpoint_zones: int
    cache_nodes: int
    alarms: int
    payment_alarms: int
    secrets: int
    keys: int
    clients: int
    """App clients that sign in with client credentials."""
    dashboards: int
    encrypted_tables: int
    sweeps: int
    sweep_gb: float
    minutely_gb: float
    """GB of memory of the other functions that run every minute: the log and deliveries."""
    queue_pollers: int
    """Number of Lambda's queue pollers, each of which polls every 20 seconds."""
    payment_zones: int
    """Number of zones of the endpoint that only stacks with a payment provider have."""
    transfer_gb: float


def standing_of(template: Mapping[str, Any], *, is_prod: bool) -> Standing:
    """Count the resources that cost money when idle."""
    resources = template["Resources"]

    def some(kind: str) -> list[dict[str, Any]]:
        return [
            each.get("Properties", {})
            for each in resources.values()
            if each["Type"] == kind and each.get("Condition") != "HasChat"
        ]

    def alarms(*conditions: str | None) -> int:
        return sum(
            _metrics_of(each["Properties"], is_prod=is_prod)
            for each in resources.values()
            if each["Type"] == "AWS::CloudWatch::Alarm" and each.get("Condition") in conditions
        )

    def gigabytes(name: str) -> float:
        own = resources[name]["Properties"].get("MemorySize")
        return int(own or template["Globals"]["Function"]["MemorySize"]) / 1024

    replicas = resources["Cache"]["Properties"]["ReplicasPerNodeGroup"]
    _, in_prod, else_where = replicas
    zones = {
        # The template has prod-only subnets inside !If.
        name: sum(is_prod or isinstance(zone, str) for zone in each["Properties"]["SubnetIds"])
        for name, each in resources.items()
        if each.get("Properties", {}).get("VpcEndpointType") == "Interface"
    }
    payment_zones = zones.pop("LambdaEndpoint")
    del zones["SecretsEndpoint"]  # Exists only if the stack reads your own cache's password.
    return Standing(
        endpoint_zones=sum(zones.values()),
        cache_nodes=1 + (in_prod if is_prod else else_where),
        alarms=alarms(None, "HasAlarmTopic", "WatchCache"),
        payment_alarms=alarms("HasGateway", "WatchPayments"),
        secrets=len(some("AWS::SecretsManager::Secret")),
        keys=len(some("AWS::KMS::Key")),
        clients=sum(
            "client_credentials" in each.get("AllowedOAuthFlows", ())
            for each in some("AWS::Cognito::UserPoolClient")
        ),
        dashboards=len(some("AWS::CloudWatch::Dashboard")),
        encrypted_tables=sum("SSESpecification" in each for each in some("AWS::DynamoDB::Table")),
        sweeps=sweeps_of(template),
        sweep_gb=gigabytes("ExpireFunction"),
        minutely_gb=gigabytes("LogFunction") + gigabytes("DeliverFunction"),
        # Reading streams is free: those mappings have a starting position.
        queue_pollers=POLLERS
        * sum("StartingPosition" not in each for each in some("AWS::Lambda::EventSourceMapping")),
        payment_zones=payment_zones,
        transfer_gb=gigabytes("TransferFunction"),
    )


def _metrics_of(alarm: Mapping[str, Any], *, is_prod: bool) -> int:
    """Return the number of metrics that an alarm reads. AWS bills each of them."""
    metrics = alarm.get("Metrics", [{"MetricStat": {}}])
    # The template has prod-only metrics inside !If.
    count = sum(isinstance(each, list) or "MetricStat" in each for each in metrics)
    # Alarms on several metrics need a topic, which only prod must have.
    return count if is_prod or count == 1 else 0
