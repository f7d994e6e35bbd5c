"""Containers build their members lazily and once, and accept replacements."""

import json
import subprocess
import sys
from dataclasses import asdict
from functools import cached_property
from pathlib import Path
from threading import current_thread
from time import sleep

import pytest

from local.gateways.wechat.wire import GatewayKeys
from redpacket.containers import Containers, containers
from redpacket.ledger.dynamodb.keys import WORK_SHARDS, work_shards
from redpacket.operations.model.limits import SENDS, LimitName
from redpacket.operations.ports import AskedVerdicts
from redpacket.operations.use_cases.cached_switches import KEPT_MS
from redpacket.payments.token_issuer import IssuerKeys
from redpacket.platform.errors import RateLimited
from redpacket.platform.settings import SettingMissing, Settings
from testing.in_memory_system import TABLES, VARIABLES, InMemorySystem
from testing.platform.process import MEMBERS, Process

ROOT = Path(__file__).parents[3]

BUILT = [
    flat
    for flat, (container, name) in MEMBERS.items()
    if isinstance(vars(type(getattr(containers, container)))[name], cached_property)
]


def test_nothing_is_built_before_its_first_use() -> None:
    assert vars(Containers()) == {}


def test_each_member_is_built_once() -> None:
    process = Process(settings=Settings(VARIABLES))

    assert process.packets is process.packets


def test_a_missing_variable_is_named() -> None:
    process = Process(settings=Settings({}))

    with pytest.raises(SettingMissing, match="TABLES"):
        _ = process.packets


def test_a_missing_table_is_named() -> None:
    with pytest.raises(SettingMissing, match="TABLES is without a table of packets"):
        _ = Settings({"TABLES": f"{TABLES} packets="}).tables


@pytest.mark.parametrize(
    "text",
    ["localhost:6379", "redis://localhost", "http://localhost:6379", "redis://localhost:1?sharded"],
)
def test_a_cache_has_a_complete_address(text: str) -> None:
    with pytest.raises(SettingMissing, match="CACHE_URL is not rediss://"):
        _ = Settings({"CACHE_URL": text}).cache_url


def test_the_scheme_of_the_cache_address_selects_the_protocol() -> None:
    given = Settings({"CACHE_URL": "rediss://functions@cache.example:6379?cluster"})

    assert given.cache_url == ("cache.example", 6379, "functions", True, True)
    assert Settings({"CACHE_URL": "redis://h:1"}).cache_url == ("h", 1, "", False, False)


@pytest.mark.parametrize("url", ["redis://functions@h:1", "rediss://h:1"])
def test_iam_sign_in_needs_a_user_name_and_tls(url: str) -> None:
    variables = {"CACHE_URL": url, "CACHE_CREDENTIALS": "replicationgroup:rush"}

    with pytest.raises(SettingMissing, match="by IAM"):
        _ = Process(settings=Settings(variables)).cache_client


def test_one_error_at_startup_names_every_invalid_variable() -> None:
    given = {
        **VARIABLES,
        "SHARE_FEN_MAX": "many",
        "CACHE_URL": "localhost",
        "DEPOSIT_FEN_MAX": "",
        "USER_ID_KEY": "{{resolve:secretsmanager:key}}",
    }

    with pytest.raises(SettingMissing) as caught:
        Settings(given).check()

    assert str(caught.value).split("; ") == [
        "USER_ID_KEY is not resolved",
        "CACHE_URL is not rediss://[USER@]HOST:PORT[?cluster]",
        "SHARE_FEN_MAX is not an integer",
        "DEPOSIT_FEN_MAX",
    ]
    Settings(VARIABLES).check()


def test_a_process_checks_its_variables_before_it_serves() -> None:
    done = subprocess.run(
        [sys.executable, "-c", "import redpacket.containers"],
        cwd=ROOT,
        env={"PYTHONPATH": str(ROOT / "shared"), "CLOSE_GRACE_S": "x", "CACHE_URL": ""},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.stderr.splitlines()[-1].endswith(
        "SettingMissing: CACHE_URL; CLOSE_GRACE_S is not an integer"
    )


def test_an_unknown_stand_in_is_refused() -> None:
    with pytest.raises(TypeError, match="pakets"):
        Process(pakets=None)


def test_a_port_of_a_type_with_several_members_is_not_guessed(system: InMemorySystem) -> None:
    with pytest.raises(TypeError, match="is one of load_ports, prize_load_ports"):
        system.process().load_edited("campaign")


def test_a_member_with_the_name_of_the_port_and_another_type_is_refused(
    system: InMemorySystem,
) -> None:
    def use_case(*, limits: AskedVerdicts) -> None:
        raise AssertionError(limits)

    with pytest.raises(TypeError, match="it has no find, keep"):
        system.process()._call(use_case)


def test_a_name_of_two_use_cases_is_ambiguous(system: InMemorySystem) -> None:
    with pytest.raises(ValueError, match="too many values"):
        _ = system.process().batches


@pytest.fixture(scope="module")
def secrets_of_gateways(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Return the contents of Secrets Manager, keyed by the ARNs that are set below."""
    merchant = GatewayKeys.of(tmp_path_factory.mktemp("keys")).merchant
    return {
        "payees": json.dumps({"1": "k" * 64}),
        "wallet": json.dumps(dict.fromkeys(("call_secret", "result_secret"), f"whsec_{'a' * 32}")),
        "merchant": json.dumps(asdict(merchant)),
        "webhooks": json.dumps({"1": "w" * 64}),
        "issuer": IssuerKeys.new(0).text(),
    }


def test_every_member_can_be_built_over_stand_ins(
    system: InMemorySystem, secrets_of_gateways: dict[str, str]
) -> None:
    more = {
        "PAYOUT_QUEUE_URL": "https://queue",
        "PAYOUT_DLQ_URL": "https://dead",
        "SHARE_FEN_MAX": "20000",
        "LOG_KEY_ID": "key",
        "ORDER_FUNCTION": "order",
        "RECONCILIATION_MACHINE": "arn:aws:states:us-east-1:1:stateMachine:reconcile",
        "RECONCILIATION_WORKGROUP": "reconcile",
        "CACHE_URL": "redis://localhost:6379",
        "RISK_URL": "https://risk.example",
        "RISK_SECRET": "whsec_MDEyMzQ1Njc4OQ==",
    }
    more |= {
        "PAYEE_KEYS_SECRET_ARN": "payees",
        "HOST_WALLET_URL": "https://wallet.example",
        "HOST_WALLET_SECRET_ARN": "wallet",
        "WECHAT_SECRET_ARN": "merchant",
        "WECHAT_SCENE": "1000,活动名称=红包",
        "WECHAT_ISSUER_URL": "https://issuer.example",
        "WECHAT_ISSUER_SECRET_ARN": "issuer",
        "JWT_AUDIENCE": "redpacket",
        "SHARE_BASE_URL": "https://page.example",
        "CALLBACK_BASE_URL": "https://redpacket.example",
        "NOTICE_QUEUE_URL": "https://notices",
        "FIRST_LINK_WAIT_S": "0",
        "WITHDRAWAL_FEN_MAX": "199999",
        "WITHDRAWAL_FEN_PER_DAY": "1000000",
        "WITHDRAW_ABOVE_FEN": "20000",
        "BILLS_PER_MINUTE": "1800",
        "NIGHT_WINDOW": "23:00-07:00",
        "WEBHOOK_KEYS_SECRET_ARN": "webhooks",
        "DELIVERY_QUEUE_URL": "https://deliveries",
        "UNREAD_RECORDS_URL": "https://unread",
        "CARD_QUEUE_URL": "https://cards",
    }
    given = Settings({**VARIABLES, **more})
    secret = secrets_of_gateways.__getitem__

    for name in BUILT:
        # Each member is built in a new process, because it must not depend on members built
        # earlier.
        process = Process(settings=given, clock=system.clock, secret=secret)
        assert getattr(process, name) is not None, name


def test_claims_are_announced_only_if_balances_are_paid_out_automatically() -> None:
    assert Process(settings=Settings(VARIABLES)).announce_claims is None


def test_a_send_must_pass_the_limits_of_the_minute_and_of_the_day(system: InMemorySystem) -> None:
    process = system.process()
    system.switch_store.put_limit(LimitName.SENDS_PER_DAY, 2)
    process.limit_sends("ann")
    process.limit_sends("ann")

    with pytest.raises(RateLimited):
        process.limit_sends("ann")

    system.switch_store.put_limit(LimitName.SENDS_PER_DAY, None)
    system.clock.sleep_ms(KEPT_MS)
    for _ in range(SENDS.burst):
        process.limit_sends("bob")
    with pytest.raises(RateLimited):
        process.limit_sends("bob")


def test_concurrent_payouts_are_limited_by_operators(system: InMemorySystem) -> None:
    process = Process(settings=Settings(VARIABLES), clock=system.clock)
    process.stored_switches = system.switches

    def name(_: int) -> str:
        sleep(0.01)
        return current_thread().name

    names = process.payouts_in_parallel(name, range(30))
    assert 1 < len(set(names)) <= 10

    system.switch_store.put_limit(LimitName.PAYOUTS_AT_ONCE, 2)
    system.clock.sleep_ms(KEPT_MS)

    names = process.payouts_in_parallel(name, range(30))
    assert len(set(names)) == 2


@pytest.mark.parametrize("groups", [1, 2, 3, 5, WORK_SHARDS])
def test_all_groups_of_sweeps_share_all_work(groups: int) -> None:
    shards = [shard for group in range(groups) for shard in work_shards(group, groups)]

    assert sorted(shards) == list(range(WORK_SHARDS))
