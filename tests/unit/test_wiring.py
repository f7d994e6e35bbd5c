"""The wiring builds late, builds once, and takes what it is given."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import asdict
from functools import cached_property
from pathlib import Path

import pytest

from local.beacon.chain import LocalChain
from local.gateways.wechat_wire import GatewayKeys
from redpacket.adapters.dynamo.keys import WORK_SHARDS, work_shards
from redpacket.adapters.payments.issuer import IssuerKeys
from redpacket.domain.errors import RateLimited
from redpacket.edge.settings import SettingMissing, Settings
from redpacket.edge.wiring import Wiring
from testing.in_memory_system import VARIABLES, InMemorySystem

ROOT = Path(__file__).parents[2]

BUILT = [
    name
    for room in Wiring.__mro__
    for name, made in vars(room).items()
    if isinstance(made, cached_property)
]


def test_nothing_is_built_before_it_is_asked_for() -> None:
    assert vars(Wiring()) == {}


def test_what_is_built_is_built_once() -> None:
    wiring = Wiring(settings=Settings(VARIABLES))

    assert wiring.packets is wiring.packets


def test_a_missing_variable_names_itself() -> None:
    wiring = Wiring(settings=Settings({}))

    with pytest.raises(SettingMissing, match="PACKETS_TABLE"):
        _ = wiring.packets


def test_every_bad_variable_is_named_in_one_error_at_the_start() -> None:
    given = {
        **VARIABLES,
        "SEND_BURST": "many",
        "CACHE_ENDPOINT": "localhost",
        "SHARES_TABLE": "",
        "USER_ID_KEY": "{{resolve:secretsmanager:key}}",
    }

    with pytest.raises(SettingMissing) as found:
        Settings(given).check()

    assert str(found.value).split("; ") == [
        "SHARES_TABLE",
        "USER_ID_KEY is not resolved",
        "CACHE_ENDPOINT is not host:port",
        "SEND_BURST is not an integer",
    ]
    Settings(VARIABLES).check()


def test_a_process_checks_its_variables_before_it_serves() -> None:
    done = subprocess.run(
        [sys.executable, "-c", "import redpacket.edge.wiring"],
        cwd=ROOT,
        env={"PYTHONPATH": str(ROOT / "shared"), "GRAB_BURST": "x", "CACHE_TLS": ""},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.stderr.splitlines()[-1].endswith(
        "SettingMissing: CACHE_TLS; GRAB_BURST is not an integer"
    )


def test_a_stand_in_of_an_unknown_name_is_refused() -> None:
    with pytest.raises(TypeError, match="pakets"):
        Wiring(pakets=None)


@pytest.fixture(scope="module")
def secrets_of_gateways(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Return what Secrets Manager holds, by the arns that are given below."""
    merchant = GatewayKeys.of(tmp_path_factory.mktemp("keys")).merchant
    return {
        "payees": json.dumps({"1": "k" * 64}),
        "wallet": json.dumps(dict.fromkeys(("call_secret", "result_secret"), f"whsec_{'a' * 32}")),
        "merchant": json.dumps(asdict(merchant)),
        "webhooks": json.dumps({"1": "w" * 64}),
        "issuer": IssuerKeys.new(0).text(),
    }


PUBLIC_KEY = LocalChain(secret=7, genesis_s=0).public_key.hex()


def test_everything_can_be_built_over_stand_ins(
    system: InMemorySystem, secrets_of_gateways: dict[str, str]
) -> None:
    limits = {
        f"{what}_{kind}": "9"
        for what in ("READ", "GRAB", "DRAW", "SEND")
        for kind in ("BURST", "PER_MINUTE")
    }
    limits |= {f"{what}S_PER_MINUTE": "9" for what in ("READ", "GRAB", "DRAW", "SEND")}
    more = {
        "PAYOUT_QUEUE_URL": "https://queue",
        "PAYOUT_DLQ_URL": "https://dead",
        "PAYOUT_MAPPING_ID": "mapping",
        "SWITCHES_TABLE": "switches",
        "SHARE_FEN_MAX": "20000",
        "PART_SHARE_COUNT": "20000",
        "BEACON_CHAIN": f"{'0' * 64},1692803367,3",
        "BEACON_PUBLIC_KEY": PUBLIC_KEY,
        "LOG_KEY_ID": "key",
        "CACHE_ENDPOINT": "localhost:6379",
        "CACHE_TLS": "false",
        "CACHE_CLUSTER": "false",
        "RISK_URL": "https://risk.example",
        "RISK_SECRET": "whsec_MDEyMzQ1Njc4OQ==",
    }
    more |= {
        "PAYEE_KEYS_SECRET_ARN": "payees",
        "HOST_WALLET_URL": "https://wallet.example",
        "HOST_WALLET_SECRET_ARN": "wallet",
        "WECHAT_SECRET_ARN": "merchant",
        "WECHAT_PAY_URL": "https://pay.example",
        "WECHAT_API_URL": "https://api.example",
        "WECHAT_CODE_KIND": "mini_program",
        "WECHAT_SCENE_ID": "1000",
        "WECHAT_REMARK": "红包提现",
        "WECHAT_REPORT_INFOS": "活动名称=红包",
        "WECHAT_ISSUER_URL": "https://issuer.example",
        "WECHAT_ISSUER_SECRET_ARN": "issuer",
        "JWT_AUDIENCE": "redpacket",
        "CALLBACK_BASE_URL": "https://redpacket.example",
        "PRIVATE_GATEWAYS": "false",
        "LATE_PAYMENTS": "credit",
        "NOTICE_QUEUE_URL": "https://notices",
        "PAYMENTS_PER_DAY": "100",
        "WITHDRAWAL_FEN_MIN": "30",
        "WITHDRAWAL_FEN_MAX": "199999",
        "WITHDRAWALS_PER_DAY": "10",
        "WITHDRAWAL_FEN_PER_DAY": "1000000",
        "WITHDRAW_ABOVE_FEN": "20000",
        "BILLS_PER_MINUTE": "1800",
        "NIGHT_WINDOW": "23:00-07:00",
        "WEBHOOK_KEYS_SECRET_ARN": "webhooks",
        "DELIVERY_QUEUE_URL": "https://deliveries",
        "UNREAD_RECORDS_URL": "https://unread",
    }
    given = Settings({**VARIABLES, **limits, **more})
    secret = secrets_of_gateways.__getitem__

    for name in BUILT:
        # A wiring of its own for each: what is built needs nothing that was built before.
        wiring = Wiring(settings=given, clock=system.clock, secret=secret)
        assert getattr(wiring, name) is not None, name


def test_claims_are_announced_only_where_balances_are_paid_out_by_themselves() -> None:
    assert Wiring(settings=Settings(VARIABLES)).announce_claims is None


def test_a_send_passes_the_limit_of_the_minute_and_that_of_the_day(system: InMemorySystem) -> None:
    variables = {"SENDS_PER_MINUTE": "600", "SEND_BURST": "9", "SENDS_PER_DAY": "2"}
    process = system.process(settings=Settings(variables))
    process.limit_sends("ann")
    process.limit_sends("ann")

    with pytest.raises(RateLimited):
        process.limit_sends("ann")

    slow = {"SENDS_PER_MINUTE": "1", "SEND_BURST": "1", "SENDS_PER_DAY": "999"}
    process = system.process(settings=Settings(slow))
    process.limit_sends("bob")
    with pytest.raises(RateLimited):
        process.limit_sends("bob")


@pytest.mark.parametrize("groups", [1, 2, 3, 5, WORK_SHARDS])
def test_all_groups_of_sweeps_share_all_work(groups: int) -> None:
    shards = [shard for group in range(groups) for shard in work_shards(group, groups)]

    assert sorted(shards) == list(range(WORK_SHARDS))
