"""Payments and withdrawals through the handlers, with both simulated providers in memory."""

import json
from io import BytesIO
from typing import Any

import httpx
import pytest

from redpacket.containers import containers
from redpacket.ledger.provider_name import ProviderName
from redpacket.packets.clients.lambda_payments import LambdaPayments
from redpacket.payments.model.provider import PaymentOrder
from redpacket.payments.ports import QUERY_HORIZON_MS
from redpacket.payments.sealed_accounts import Accounts
from redpacket.platform.errors import Unavailable
from redpacket.platform.settings import settings
from testing.in_memory_system import InMemorySystem
from testing.payments.fake_gateway import FakeGateway, FakePaymentsIn, FakePaymentsOut
from testing.payments.gateways import account_keys
from testing.platform.handlers import Context, handlers
from testing.platform.users import HttpUser
from tests.handlers.conftest import Invoke, MakeUser

VARIABLES = {
    "WITHDRAWAL_FEN_MAX": "199999",
    "WITHDRAWAL_FEN_PER_DAY": "2000000",
    "WITHDRAW_ABOVE_FEN": "0",
    "BILLS_PER_MINUTE": "1800",
    "PAYMENT_CHANNELS": "host,wechat",
}
BY_CODE = {"amount_fen": 100, "channel": "wechat", "method": "native"}


@pytest.fixture(autouse=True)
def gateways(
    system: InMemorySystem, monkeypatch: pytest.MonkeyPatch
) -> dict[ProviderName, FakeGateway]:
    for name, value in VARIABLES.items():
        monkeypatch.setitem(settings.variables, name, value)
    made = {channel: FakeGateway(system.clock) for channel in ProviderName}
    vars(containers.providers).update(
        providers_in={
            channel: FakePaymentsIn(gateway, channel) for channel, gateway in made.items()
        },
        providers_out={
            channel: FakePaymentsOut(gateway, channel=channel) for channel, gateway in made.items()
        },
        host_accounts=Accounts(account_keys(), "host"),
        prompts=Accounts(account_keys(), "prompt"),
    )
    return made


def _refused(answer: httpx.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["code"]


def test_every_refusal_has_its_code_and_no_effect(a_user: MakeUser) -> None:
    user = a_user(funds_fen=300_000)
    withdrawals = [
        ({"amount_fen": 29, "channel": "wechat"}, (422, "amount_too_small")),
        ({"amount_fen": 200_000, "channel": "wechat"}, (422, "amount_too_large")),
        ({"amount_fen": 100, "channel": "wechat"}, (409, "payee_not_bound")),
        ({"amount_fen": 100, "channel": "cash"}, (422, "invalid_request")),
        ({"amount_fen": 0, "channel": "host"}, (422, "invalid_request")),
        ({"amount_fen": 1.5, "channel": "host"}, (422, "invalid_request")),
        ({"channel": "host"}, (422, "invalid_request")),
    ]
    payments = [
        ({"amount_fen": 100, "channel": "wechat", "method": "jsapi"}, (409, "payee_not_bound")),
        ({"amount_fen": 100, "channel": "wechat", "method": "card"}, (422, "invalid_request")),
        ({"amount_fen": -1, "channel": "host", "method": "native"}, (422, "invalid_request")),
    ]

    pairs = [
        (_refused(user.post(path, body)), wanted)
        for path, bodies in (("/me/withdrawals", withdrawals), ("/me/payments", payments))
        for body, wanted in bodies
    ]

    assert [got for got, _ in pairs] == [wanted for _, wanted in pairs]
    poor = a_user().post("/me/withdrawals", {"amount_fen": 100, "channel": "host"})
    assert _refused(poor) == (402, "insufficient_funds")
    for path, code in (
        ("/me/payments/nonsense", "payment_not_found"),
        (f"/me/payments/{'0' * 32}", "payment_not_found"),
        ("/me/withdrawals/nonsense", "withdrawal_not_found"),
        (f"/me/withdrawals/{'0' * 30}", "withdrawal_not_found"),
    ):
        assert _refused(user.http.get(path)) == (404, code)
    another = a_user().post("/me/payments", BY_CODE).json()
    assert _refused(user.http.get(f"/me/payments/{another['payment_id']}")) == (
        404,
        "payment_not_found",
    )
    without_key = user.http.post("/me/withdrawals", json={"amount_fen": 100, "channel": "host"})
    assert _refused(without_key) == (400, "idempotency_key_missing")
    user.post("/me/payments", {**payments[0][0], "method": "native"}, key="mine")
    reused = user.post(
        "/me/payments", {**payments[0][0], "method": "native", "amount_fen": 9}, "mine"
    )
    assert _refused(reused) == (422, "idempotency_key_reused")
    assert user.balance_fen() == 300_000
    assert user.http.get("/me/withdrawals").json() == {"items": [], "next": None}


def test_switches_stop_new_operations_and_nothing_else(
    system: InMemorySystem,
    a_user: MakeUser,
    operator: HttpUser,
    invoke: Invoke,
    gateways: dict[ProviderName, FakeGateway],
) -> None:
    user = a_user(funds_fen=550)
    started = user.post("/me/payments", BY_CODE).json()
    held = user.post("/me/withdrawals", {"amount_fen": 50, "channel": "host"}).json()
    for name in ("pay", "withdraw"):
        assert operator.http.put(f"/admin/switches/{name}", json={"on": False}).is_success
    system.pass_time(10_000)

    for path, body in {
        "/me/payments": {"amount_fen": 100, "channel": "host", "method": "native"},
        "/me/withdrawals": {"amount_fen": 100_000, "channel": "host"},
        "/packets": {"kind": "equal", "total_fen": 100, "count": 1, "pay_with": "host"},
        f"/me/withdrawals/{held['withdrawal_id']}/cancel": {},
    }.items():
        assert _refused(user.post(path, body)) == (503, "switched_off")
    gateways[ProviderName.WECHAT].pay(started["payment_id"])
    invoke("TransferFunction", {"task": "sweep"})

    assert user.balance_fen() == 600


def test_operators_cannot_withdraw_campaign_money(
    system: InMemorySystem, a_user: MakeUser, operator: HttpUser
) -> None:
    desk, treasurer = (a_user("desk", scope=f"hongbao/{role}") for role in ("operate", "treasury"))
    private: dict[str, Any] = {"kind": "lucky", "total_fen": 100, "count": 1}
    withdrawal = {"amount_fen": 100, "channel": "host"}
    now_ms = system.clock.now_ms()
    plan = {"title": "Gala", "starts_at_ms": now_ms, "ends_at_ms": now_ms + 3_600_000}
    plan |= {"miss_weight": 1, "budget_fen": 1_000, "status": "on"}
    assert operator.http.put("/admin/campaigns/gala", json=plan).is_success
    deposit = {"user": "desk", "amount_fen": 1_000}
    assert operator.post("/admin/deposits", deposit).is_success
    to_one = {**private, "campaign_id": "gala", "recipients": [treasurer.user_token()]}

    refused = [
        desk.post(path, body)
        for path, body in {"/me/withdrawals": withdrawal, "/packets": private}.items()
    ]
    refused += [user.post("/packets", to_one) for user in (desk, treasurer)]
    assert [_refused(each) for each in refused] == [(403, "forbidden")] * 4
    both = a_user("desk", scope="hongbao/operate hongbao/treasury")
    assert both.post("/packets", to_one).is_success

    # Without an operator's scope, an account is restricted only if it is marked for campaigns.
    assert a_user("desk").post("/me/withdrawals", withdrawal).is_success
    marked = deposit | {"is_for_campaigns": True}
    assert _refused(operator.post("/admin/deposits", marked)) == (422, "invalid_request")
    boss = a_user("boss", scope="hongbao/treasury")
    assert boss.approve(operator.post("/admin/deposits", marked | {"user": "till"})).is_success
    plain, till = a_user("till"), a_user("till", scope="hongbao/operate")
    assert _refused(plain.post("/me/withdrawals", withdrawal)) == (403, "forbidden")
    assert _refused(plain.post("/packets", private)) == (403, "forbidden")
    assert till.post("/packets", {**private, "campaign_id": "gala"}).is_success
    assert till.balance_fen() == 900


def test_campaign_money_of_a_departed_operator_is_moved_and_their_account_is_free(
    a_user: MakeUser, operator: HttpUser
) -> None:
    carol, boss = a_user("carol"), a_user("boss", scope="hongbao/treasury")
    for user in ("carol", "dave"):
        deposit = {"user": user, "amount_fen": 6_000, "is_for_campaigns": True}
        assert boss.approve(operator.post("/admin/deposits", deposit)).is_success
    path = "/admin/accounts/carol/campaign-money"
    move = {"user": "dave", "reason": "she left"}
    payment = {"amount_fen": 300, "channel": "host", "method": "native"}

    assert _refused(carol.post("/me/payments", payment)) == (403, "forbidden")
    refused = operator.http.delete(path)
    assert _refused(refused) == (409, "account_not_empty")
    assert _refused(a_user("eve", scope="hongbao/operate").post(path, move)) == (403, "forbidden")
    moved, again = (boss.post(path, move, key="move") for _ in range(2))
    elsewhere = boss.post("/admin/accounts/erin/campaign-money", move, key="move")
    emptied = boss.post(path, move, key="another")
    freed = boss.http.delete(path)

    assert (moved.status_code, moved.json()["balance_fen"]) == (201, 0)
    assert again.json() == moved.json()
    assert _refused(elsewhere) == (422, "idempotency_key_reused")
    assert _refused(emptied) == (402, "insufficient_funds")
    assert a_user("dave").balance_fen() == 12_000
    assert freed.json() == {"user_token": carol.user_token(), "is_for_campaigns": False}
    assert carol.post("/me/payments", payment).is_success
    subject = f"user:{carol.user_token()}"
    journal = operator.http.get("/admin/journal", params={"subject": subject}).json()["items"]
    assert {each["summary"].partition(" ")[2] for each in journal} == {
        "requested a change of carol",
        "approved a change of carol that moves ¥60.00",
        "deposited ¥60.00 for carol, for campaigns only",
        "moved ¥60.00 of campaign money from carol",
        "removed the campaign mark from carol",
    }


def _withdraw(user: HttpUser, amount_fen: int) -> str:
    """Return the path of a new withdrawal to the host's wallet."""
    held = user.post("/me/withdrawals", {"amount_fen": amount_fen, "channel": "host"}).json()
    return f"/me/withdrawals/{held['withdrawal_id']}"


def test_a_cancellation_waits_for_the_provider_even_if_no_call_is_recorded(
    a_user: MakeUser, invoke: Invoke
) -> None:
    user = a_user(funds_fen=1_000)
    path = _withdraw(user, 100)

    cancelled = user.http.post(f"{path}/cancel")
    held_fen = user.balance_fen()
    again = user.http.post(f"{path}/cancel").json()
    invoke("TransferFunction", {"task": "sweep"})

    assert (cancelled.status_code, cancelled.json()["status"]) == (202, "cancelling")
    assert (again["status"], held_fen) == ("cancelling", 900)
    assert user.http.get(path).json()["status"] == "cancelled"
    assert user.balance_fen() == 1_000


def test_a_cancellation_after_a_restore_returns_no_paid_money(
    system: InMemorySystem,
    a_user: MakeUser,
    invoke: Invoke,
    gateways: dict[ProviderName, FakeGateway],
) -> None:
    user = a_user(funds_fen=1_000)
    path, backup = _withdraw(user, 300), system.dynamo.rows()
    invoke("TransferFunction", {"task": "dispatch"})
    system.pass_time(60_000)
    invoke("TransferFunction", {"task": "sweep"})
    assert user.http.get(path).json()["status"] == "paid"
    system.dynamo.hold(backup)

    cancelled = user.http.post(f"{path}/cancel").json()
    invoke("TransferFunction", {"task": "sweep"})

    assert cancelled["status"] == "cancelling"
    assert user.http.get(path).json()["status"] == "paid"
    assert user.balance_fen() == 700
    assert [line.amount_fen for line in gateways[ProviderName.HOST].book] == [300]


def test_an_operator_returns_a_withdrawal_that_its_provider_has_forgotten(
    system: InMemorySystem,
    a_user: MakeUser,
    operator: HttpUser,
    invoke: Invoke,
    gateways: dict[ProviderName, FakeGateway],
) -> None:
    user = a_user(funds_fen=1_000)
    path = _withdraw(user, 300)
    withdrawal_id = path.rpartition("/")[2]
    gateways[ProviderName.HOST].is_away = True
    system.pass_time(QUERY_HORIZON_MS)
    for task in ("dispatch", "sweep"):
        invoke("TransferFunction", {"task": task})
    gateways[ProviderName.HOST].is_away = False
    decision = {"task": "return_forgotten", "withdrawal_id": withdrawal_id}

    results = [invoke("TransferFunction", decision)["result"] for _ in range(2)]
    deposit = {"user": user.host_id, "amount_fen": 300, "case": withdrawal_id}
    deposited = operator.post("/admin/deposits", deposit)

    assert results == [
        "returned",
        "not returned: it has ended, or the provider's queries still decide",
    ]
    assert user.http.get(path).json()["status"] == "cancelled"
    assert _refused(deposited) == (422, "idempotency_key_reused")
    assert user.balance_fen() == 1_000


class _OrderFunction:
    """Lambda client that invokes the order function in this process."""

    def invoke(self, FunctionName: str, Payload: bytes) -> dict[str, Any]:  # noqa: N803 - boto3's
        answer = handlers()[FunctionName](json.loads(Payload), Context())
        return {"Payload": BytesIO(json.dumps(answer).encode())}


@pytest.fixture
def unpaid(a_user: MakeUser) -> tuple[HttpUser, dict[str, Any]]:
    """Return a sender and their packet, which waits for a payment of 500 fen."""
    vars(containers.packets)["payments"] = LambdaPayments(_OrderFunction, "order")
    user = a_user("payer", funds_fen=100)
    body = {"kind": "equal", "total_fen": 500, "count": 5, "pay_with": "host"}
    return user, user.post("/packets", body).json()


def test_an_unpaid_packet_that_ended_can_no_longer_be_paid(
    system: InMemorySystem,
    unpaid: tuple[HttpUser, dict[str, Any]],
    a_user: MakeUser,
    invoke: Invoke,
    gateways: dict[ProviderName, FakeGateway],
) -> None:
    user, packet = unpaid
    path = f"/packets/{packet['packet_id']}/end"

    ended = user.http.post(path)
    paid = gateways[ProviderName.HOST].pay(packet["payment_id"])
    repeated = user.http.post(path)
    system.pass_time(10_000)
    invoke("TransferFunction", {"task": "sweep"})

    assert ended.status_code == 202
    assert repeated.json() == ended.json()
    assert paid is None
    assert user.record(packet["packet_id"])["status"] == "cancelled"
    assert user.http.get(f"/me/payments/{packet['payment_id']}").json()["status"] == "closed"
    assert _refused(a_user().grab(packet["packet_id"])) == (410, "packet_expired")
    assert _refused(a_user().http.post(path)) == (404, "packet_not_found")


@pytest.mark.usefixtures("unpaid")
def test_a_repeated_send_orders_no_payment_of_an_ended_packet(
    system: InMemorySystem,
    a_user: MakeUser,
    gateways: dict[ProviderName, FakeGateway],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    user, gateway = a_user(), gateways[ProviderName.HOST]
    body = {"kind": "equal", "total_fen": 500, "count": 5, "pay_with": "host"}

    def lose(_gate: FakePaymentsIn, _order: PaymentOrder) -> None:
        raise Unavailable("the order was lost on its way")

    with monkeypatch.context() as patched:
        patched.setattr(FakePaymentsIn, "order", lose)
        packet = user.post("/packets", body, key="mine").json()
    ended = user.http.post(f"/packets/{packet['packet_id']}/end")
    system.pass_time(60_000)
    repeated = user.post("/packets", body, key="mine").json()

    assert ended.status_code == 202
    assert (repeated["packet_id"], repeated["host"]) == (packet["packet_id"], None)
    assert packet["payment_id"] not in gateway.orders


def test_money_that_arrives_after_an_early_end_is_credited_to_the_balance(
    system: InMemorySystem,
    unpaid: tuple[HttpUser, dict[str, Any]],
    invoke: Invoke,
    gateways: dict[ProviderName, FakeGateway],
) -> None:
    user, packet = unpaid
    # The payer has paid, but no callback has arrived yet.
    assert gateways[ProviderName.HOST].pay(packet["payment_id"])

    ended = user.http.post(f"/packets/{packet['packet_id']}/end")
    system.pass_time(60_000)
    invoke("TransferFunction", {"task": "sweep"})

    assert ended.status_code == 202
    assert user.record(packet["packet_id"])["status"] == "cancelled"
    assert user.http.get(f"/me/payments/{packet['payment_id']}").json()["status"] == "paid"
    assert user.balance_fen() == 600


def test_a_packet_that_a_payment_opened_meanwhile_ends_like_an_open_one(
    system: InMemorySystem,
    unpaid: tuple[HttpUser, dict[str, Any]],
    invoke: Invoke,
    gateways: dict[ProviderName, FakeGateway],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    user, packet = unpaid
    close = FakePaymentsIn.close

    def pay_first(gate: FakePaymentsIn, number: str) -> None:
        gateways[ProviderName.HOST].pay(number)
        system.pass_time(60_000)
        invoke("TransferFunction", {"task": "sweep"})
        close(gate, number)

    monkeypatch.setattr(FakePaymentsIn, "close", pay_first)

    ended = user.http.post(f"/packets/{packet['packet_id']}/end")
    invoke("ExpireFunction", {"source": "aws.events"})

    assert ended.status_code == 202
    assert user.record(packet["packet_id"])["status"] == "closed"
    assert user.balance_fen() == 600


def test_an_unpaid_packet_waits_while_its_provider_is_unavailable(
    unpaid: tuple[HttpUser, dict[str, Any]],
    operator: HttpUser,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    user, packet = unpaid
    path = f"/admin/packets/{packet['packet_id']}/end"

    def hang(_gate: FakePaymentsIn, _number: str) -> None:
        raise Unavailable("no answer")

    with monkeypatch.context() as patched:
        patched.setattr(FakePaymentsIn, "close", hang)
        away = operator.http.post(path, json={"reason": "sent twice"})
    status = user.record(packet["packet_id"])["status"]
    ended = operator.http.post(path, json={"reason": "sent twice"})

    assert (_refused(away), status) == ((503, "unavailable"), "unpaid")
    assert ended.status_code == 202
    assert user.record(packet["packet_id"])["status"] == "cancelled"
    items = operator.http.get("/admin/journal").json()["items"]
    (noted,) = (item for item in items if item["action"] == "packet_ended")
    assert noted["summary"].endswith(f" ended packet {packet['packet_id']} of payer")


def test_auditors_see_the_reasons_why_withdrawals_wait(a_user: MakeUser, invoke: Invoke) -> None:
    user, auditor = a_user("ann", funds_fen=1_000), a_user("eve", scope="hongbao/audit")
    body = {"amount_fen": 100, "channel": "host"}
    made = [user.post("/me/withdrawals", body).json()["withdrawal_id"] for _ in range(2)]
    user.http.post(f"/me/withdrawals/{made[0]}/cancel")
    invoke("TransferFunction", {"task": "sweep"})
    read, path = auditor.http.get, "/admin/withdrawals"

    (pending,) = read(path).json()["items"]
    shown = read(f"{path}/{made[1]}").json()
    ended = read(path, params={"user": "ann", "status": "cancelled"}).json()["items"]

    assert shown == {
        **pending,
        "transfer_no": f"{made[1]}01",
        "call_count": 0,
        "lease_until_ms": 0,
        "reason": "",
        "calls": [],
    }
    assert (pending["withdrawal_id"], pending["status"]) == (made[1], "queued")
    assert pending["waits_for"] == "the next call to the provider"
    assert [(each["withdrawal_id"], each["waits_for"]) for each in ended] == [(made[0], None)]
    assert _refused(read(path, params={"status": "paid"})) == (422, "invalid_request")
    assert _refused(read(path, params={"cursor": "x"})) == (422, "invalid_request")
    assert _refused(read(f"{path}/{'0' * 30}")) == (404, "withdrawal_not_found")
    assert _refused(a_user("tom", scope="hongbao/operate").http.get(path)) == (403, "forbidden")
