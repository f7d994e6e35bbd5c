"""Pages about personal data: they name each data store in the template, and how long the store
keeps data.
"""

import re
from typing import Any

import pytest

from local.places import ROOT
from tests.template.translated import STACK_OF, STACKS

PAGES = ("docs/explanation/privacy.md", "docs/zh/privacy.md")
STORES = {
    "AWS::Cognito::UserPool",
    "AWS::DynamoDB::Table",
    "AWS::ElastiCache::ReplicationGroup",
    "AWS::S3::Bucket",
    "AWS::SQS::Queue",
}
OTHER_DATA = {
    "AWS::KMS::Key",  # Keys for signatures.
    "AWS::SecretsManager::Secret",
    "AWS::Glue::Database",  # Table definitions; the rows are in ExportBucket.
    "AWS::Logs::LogGroup",
}
_DAY_S = 24 * 3600


def _resources() -> dict[str, dict[str, Any]]:
    return {name: each for stack in STACKS for name, each in stack.resources.items()}


def _stores() -> dict[str, dict[str, Any]]:
    return {name: each for name, each in _resources().items() if each["Type"] in STORES}


def _rows(page: str) -> list[list[str]]:
    """Return the rows of the table at the top of a page: data, places, and time."""
    table = (ROOT / page).read_text(encoding="utf-8").split("\n\n")[1]
    return [line.strip("| ").split(" | ") for line in table.splitlines()[2:]]


def _days_of(store: dict[str, Any]) -> int | None:
    """Return the days after which a store deletes everything, or None."""
    properties = store["Properties"]
    if seconds := properties.get("MessageRetentionPeriod"):
        return int(seconds) // _DAY_S
    rules = properties.get("LifecycleConfiguration", {}).get("Rules", [])
    days = [rule.get("ExpirationInDays") for rule in rules if "TagFilters" not in rule]
    return next(filter(None, days), None)


@pytest.mark.parametrize("page", PAGES)
def test_the_page_lists_exactly_the_stores_of_the_template(page: str) -> None:
    places = " ".join(place for _, place, _ in _rows(page))
    named = set(re.findall(r"[A-Z]\w+(?:Table|Bucket|Queue|Dlq|Pool|Records)\b|\bCache\b", places))

    assert named == _stores().keys()


@pytest.mark.parametrize("page", PAGES)
def test_stores_that_delete_by_age_keep_data_for_the_documented_time(page: str) -> None:
    ages = {name: days for name, each in _stores().items() if (days := _days_of(each))}

    assert {"ExportBucket", "PayoutQueue", "UnreadRecords"} <= ages.keys()
    for _, place, time in _rows(page):
        told = set(map(int, re.findall(r"\d+", time)))
        named = {name for name in ages if re.search(rf"\b{name}\b", place, re.ASCII)}
        assert {ages[name] for name in named} <= told, place


@pytest.mark.parametrize("page", PAGES)
def test_logs_are_kept_for_the_documented_time(page: str) -> None:
    kept = {
        each["Properties"]["RetentionInDays"]
        for each in _resources().values()
        if each["Type"] == "AWS::Logs::LogGroup"
    }
    text = (ROOT / page).read_text(encoding="utf-8")

    assert kept <= {14, 365}
    assert re.search("14 days|14 天", text)
    assert re.search("logs for a year|日志保存一年", text)


def test_all_kinds_of_stores_are_covered() -> None:
    keeping = re.compile(
        "(?<!Route)Table|Bucket|Queue|Stream|UserPool|ReplicationGroup|LogGroup|Cluster|FileSystem|"
        "Secret|Key|Database"
    )
    kinds = {each["Type"] for each in _resources().values()}

    found = {kind for kind in kinds if keeping.fullmatch(kind.rpartition("::")[2])}
    assert found == STORES | OTHER_DATA


def test_each_secret_that_a_configuration_shows_is_among_the_duties() -> None:
    duties = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    stack = STACK_OF["a page under a domain"]
    shown = {
        name
        for each in STACKS
        for function in each.handlers().values()
        for name, value in function["Environment"]["Variables"].items()
        if "{{resolve:secretsmanager" in str(value)
    } - {"WECHAT_MCH_ID", "WECHAT_PUBLIC_KEY", "WECHAT_PUBLIC_KEY_ID"}
    sent = stack.values["OriginKeys"].split(",")[0]

    assert {"SEED_KEYS", "USER_ID_KEY", "RISK_SECRET"} <= shown
    assert {name for name in shown if name not in duties} == set()
    for right, resource in (
        ("lambda:GetFunctionConfiguration", "GrabFunction"),
        ("cloudfront:GetDistributionConfig", "PageDistribution"),
    ):
        assert sent in str(stack.resources[resource]), resource
        assert right in duties
    # DescribeUserPoolClient returns the secret of the operators' app client.
    assert "OperatorClient" in stack.resources
    assert "cognito-idp:DescribeUserPoolClient" in duties
