"""Addition of a provider by one registry line: no use case and no container names it."""

import json
import os
import subprocess
import sys

import jwt
import pytest

from redpacket.ledger.errors import ChannelUnavailable
from redpacket.ledger.provider_name import ProviderName
from redpacket.payments.errors import SignatureInvalid
from redpacket.payments.model.payments import Payment, PaymentStatus
from redpacket.payments.model.provider import PayMethod, statement_day
from redpacket.payments.model.withdrawals import LEASE_MS, WithdrawalStatus
from redpacket.payments.use_cases.start_payment import PaymentAsk
from redpacket.payments.use_cases.withdraw import WithdrawalAsk
from redpacket.platform.idempotency import Request
from redpacket.platform.settings import Settings
from testing.in_memory_system import VARIABLES, InMemorySystem, a_person, one_by_one
from testing.payments.fake_gateway import FakeGateway, FakeNoticeQueue
from testing.payments.gateways import account_keys
from testing.platform.process import Process
from tests.unit.payments.coin.setup import Coin, registry_line, signature_of

DAY_MS = 86_400_000
KEY = "a key that coin and we share"
LIMITS = {
    "WITHDRAWAL_FEN_MAX": "199999",
    "WITHDRAWAL_FEN_PER_DAY": "2000000",
    "WITHDRAW_ABOVE_FEN": "0",
    "BILLS_PER_MINUTE": "1800",
    "FIRST_LINK_WAIT_S": "0",
    "COIN_KEY": KEY,
    "PAYMENT_CHANNELS": "coin",
}


@pytest.fixture
def coin(monkeypatch: pytest.MonkeyPatch) -> ProviderName:
    """Add the coin to the provider registry."""
    line = registry_line()
    monkeypatch.setitem(ProviderName._member_map_, "COIN", line)
    monkeypatch.setitem(ProviderName._value2member_map_, "coin", line)
    monkeypatch.setattr(ProviderName, "_member_names_", [*ProviderName._member_names_, "COIN"])
    return ProviderName("coin")


@pytest.fixture
def system() -> InMemorySystem:
    return InMemorySystem()


@pytest.fixture
def gateway(system: InMemorySystem, monkeypatch: pytest.MonkeyPatch) -> FakeGateway:
    gateway = FakeGateway(system.clock)
    monkeypatch.setattr(Coin, "gateway", gateway, raising=False)
    return gateway


@pytest.fixture
def queue() -> FakeNoticeQueue:
    return FakeNoticeQueue()


def test_a_provider_of_yuan_alone_moves_no_other_unit(system: InMemorySystem) -> None:
    units = ("CNY,2,¥", "points,0,pts")

    yuan, points = (
        set(system.process(settings=Settings({**VARIABLES, "UNIT": unit})).providers)
        for unit in units
    )

    assert yuan == set(ProviderName)
    assert ProviderName.HOST in points
    assert ProviderName.WECHAT not in points


@pytest.fixture
def process(coin: ProviderName, system: InMemorySystem, queue: FakeNoticeQueue) -> Process:
    process = system.process(
        settings=Settings({**VARIABLES, **LIMITS}), payee_keys=account_keys(), notice_queue=queue
    )
    assert coin in process.providers
    return process


def _start(process: Process, coin: ProviderName) -> Payment:
    ask = PaymentAsk("user", 500, coin, PayMethod.NATIVE, Request("user", "pay", "500"))
    payment: Payment = process.start_payment(ask, payees=process.payees_of(a_person("user")))
    return payment


def _tell(process: Process, kind: str, number: str) -> None:
    """Send one of the coin's callbacks, and process the queued messages."""
    body = json.dumps({"kind": kind, "id": f"{kind}-{number}", "number": number}).encode()
    process.handle_callback(ProviderName("coin"), {"coin-signature": signature_of(body, KEY)}, body)
    while process.notice_queue.notices:
        notice = process.notice_queue.notices.pop()
        process.follow_notice(ProviderName("coin"), notice)


def test_money_is_paid_in_and_out_through_a_third_provider(
    process: Process, coin: ProviderName, gateway: FakeGateway, system: InMemorySystem
) -> None:
    user = a_person("user")
    payment = _start(process, coin)
    gateway.pay(payment.number)
    _tell(process, "payment", payment.number)

    process.bind_account(user.user_id, coin, "code-user")
    system.pass_time(DAY_MS)
    ask = WithdrawalAsk("user", 200, coin, Request("user", "withdraw", "200"))
    withdrawal = process.withdraw(ask, payees=process.payees_of(user))
    process.dispatch_all(in_parallel=one_by_one, stop_at_ms=system.clock.now_ms() + 60_000)
    system.pass_time(LEASE_MS)
    _tell(process, "transfer", withdrawal.transfer_no)

    assert (
        process.find_payment(payment.number, "user", payees=process.payees_of(user)).status
        is PaymentStatus.PAID
    )
    stored = process.find_withdrawal(withdrawal.withdrawal_id, user.user_id)
    assert stored.status is WithdrawalStatus.PAID
    assert system.balance_fen("user") == 300
    assert [(line.kind, line.amount_fen) for line in gateway.book] == [
        ("payment", 500),
        ("transfer", 200),
    ]


def test_statements_of_a_third_provider_are_compared(
    process: Process, coin: ProviderName, gateway: FakeGateway, system: InMemorySystem
) -> None:
    day = statement_day(system.clock.now_ms())
    payment = _start(process, coin)
    gateway.pay(payment.number)
    _tell(process, "payment", payment.number)
    system.pass_time(DAY_MS)

    (agreed,) = process.compare_statements(day, stop_at_ms=system.clock.now_ms() + 60_000)[coin]
    gateway.edit_statement = lambda _day, _kinds, _lines: []
    (missing,) = process.compare_statements(day, stop_at_ms=system.clock.now_ms() + 60_000)[coin]

    assert (agreed.line_count, agreed.differences) == (1, ())
    assert [(difference.expected, difference.actual) for difference in missing.differences] == [
        (0, 500)
    ]


@pytest.mark.usefixtures("gateway")
def test_users_sign_in_through_a_third_provider(process: Process, coin: ProviderName) -> None:
    user = a_person("user")

    token, _ = process.sign_in("code-user", coin, lambda _subject: user.user_id, address="")

    subject = jwt.decode(token, options={"verify_signature": False})["sub"]
    assert subject.startswith("coin|")
    assert process.payees_of(user).find(user.user_id, coin)


@pytest.mark.usefixtures("gateway")
def test_a_third_provider_verifies_its_own_callbacks(process: Process) -> None:
    with pytest.raises(SignatureInvalid):
        process.handle_callback(ProviderName("coin"), {"coin-signature": "forged"}, b"{}")
    # This deployment configures no other provider.
    with pytest.raises(ChannelUnavailable):
        process.handle_callback(ProviderName.WECHAT, {}, b"{}")


def test_the_registry_forgets_providers_of_a_test() -> None:
    assert "coin" not in list(ProviderName)


def test_a_third_provider_needs_no_route_of_ours() -> None:
    """Run in a new process, because handlers read the registry when they are imported."""
    scenario = [sys.executable, "-m", "tests.unit.payments.coin.over_http"]
    paths = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    told = subprocess.run(scenario, env=paths, capture_output=True, text=True, check=False)

    assert told.returncode == 0, told.stderr
    answers = json.loads(told.stdout.splitlines()[-1])
    assert answers.pop("payment")[2]["code_url"].startswith("pay://")
    status, state, prompt, others = answers.pop("packet")
    assert (status, state, others) == (201, "unpaid", None)
    assert prompt["code_url"].startswith("pay://")
    assert answers == {
        "link before": [200, False],
        "link": [200, True],
        "channel without a gateway": [422, "channel_unavailable"],
        "forged callback": [401, "signature_invalid"],
        "callback": [204, None],
        "callback without the setting": [422, "channel_unavailable"],
        "paid": [200, "paid"],
        "withdrawal": [202, "coin"],
        "packet paid": [200, "open"],
        "tags": ["Payments", "Payments"],
        "fields": [True, True],
        "channels": [*ProviderName, "coin"],
    }
