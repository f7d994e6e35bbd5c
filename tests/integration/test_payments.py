"""Payments and withdrawals over HTTP, against the deployed stack, a gateway and a wallet."""

import json
import time
import uuid
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
import pytest

from local.client import NO_TLS
from local.gateways.wechat.simulator import openid_of
from local.stack import Stack
from redpacket.payments.dynamodb import keys
from redpacket.payments.model.withdrawals import LEASE_MS
from redpacket.platform.dynamodb.client import to_wire, values
from tests.integration.conftest import Eventually, HttpUser, Invoke, MakeUser

# The tests invoke the sweep themselves, so a scheduled sweep must not query the provider first.
pytestmark = pytest.mark.usefixtures("only_own_sweeps")

PAYMENTS = 3
CODES = ("code-ann", "code-ben", "code-cat", "code-dan", "code-eve", "code-guest")


class Counterparty:
    """Client for the controls and the books of the simulated gateway or wallet."""

    def __init__(self, url: str) -> None:
        self._http = httpx.Client(base_url=url, timeout=10, trust_env=False, verify=NO_TLS)

    def do(self, name: str, **body: Any) -> dict[str, Any]:
        answer = self._http.post(f"/_fake/{name}", json=body)
        assert answer.is_success, answer.text
        done: dict[str, Any] = answer.json()
        return done

    def see(self, name: str) -> Any:
        return self._http.get(f"/_fake/{name}").json()

    def close(self) -> None:
        self._http.close()


@pytest.fixture
def gateway(stack: Stack) -> Iterator[Counterparty]:
    side = Counterparty(stack.gateway)
    yield side
    side.do("mode", mode="ok")
    side.close()


@pytest.fixture
def wallet(stack: Stack) -> Iterator[Counterparty]:
    side = Counterparty(stack.wallet)
    yield side
    side.do("mode", mode="ok")
    side.close()


def _transfers(invoke: Invoke, task: str, **more: Any) -> dict[str, Any]:
    return invoke("TransferFunction", {"task": task, **more})


def _start(user: HttpUser, amount_fen: int, channel: str = "wechat", **more: Any) -> dict[str, Any]:
    body = {"amount_fen": amount_fen, "channel": channel, "method": "native", **more}
    answer = user.post("/me/payments", body)
    assert answer.status_code == httpx.codes.CREATED, answer.text
    payment: dict[str, Any] = answer.json()
    return payment


def _payment(user: HttpUser, payment_id: str) -> dict[str, Any]:
    body: dict[str, Any] = user.http.get(f"/me/payments/{payment_id}").json()
    return body


def _age(stack: Stack, withdrawal_id: str, by_ms: int) -> None:
    """Backdate a withdrawal's lease and next query, unless the withdrawal has ended."""
    dynamodb: Any = stack.aws("dynamodb")
    with suppress(dynamodb.exceptions.ConditionalCheckFailedException):
        dynamodb.update_item(
            TableName=stack.outputs["PaymentsTable"],
            Key=to_wire(keys.withdrawal(withdrawal_id)),
            UpdateExpression="ADD work_at_ms :change, lease_until_ms :change",
            ConditionExpression="attribute_exists(work_pk)",
            ExpressionAttributeValues=values(change=-by_ms),
        )


def _withdraw(user: HttpUser, amount_fen: int, channel: str = "wechat") -> dict[str, Any]:
    answer = user.post("/me/withdrawals", {"amount_fen": amount_fen, "channel": channel})
    assert answer.status_code == httpx.codes.ACCEPTED, answer.text
    held: dict[str, Any] = answer.json()
    return held


def _withdrawal(user: HttpUser, withdrawal_id: str) -> dict[str, Any]:
    body: dict[str, Any] = user.http.get(f"/me/withdrawals/{withdrawal_id}").json()
    return body


def _refused(answer: httpx.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["code"]


def _kinds(user: HttpUser) -> list[tuple[str, int]]:
    items = user.http.get("/me/transfers").json()["items"]
    return [(item["kind"], item["amount_fen"]) for item in items]


def test_a_payment_is_credited_when_the_gateway_calls_back(
    a_user: MakeUser, gateway: Counterparty, eventually: Eventually
) -> None:
    user = a_user()
    started = _start(user, 500)

    gateway.do("pay", payment_id=started["payment_id"])

    eventually(lambda: _payment(user, started["payment_id"])["status"] == "paid")
    assert started["status"] == "pending"
    assert started["wechat"]["code_url"].startswith("weixin://")
    assert user.balance_fen() == 500
    assert _kinds(user) == [("payment", 500)]


def test_the_sweep_credits_payments_without_a_callback_and_a_forged_one_has_no_effect(
    a_user: MakeUser, gateway: Counterparty, invoke: Invoke, eventually: Eventually
) -> None:
    user = a_user()
    silent, forged, stale = (_start(user, fen) for fen in (100, 20, 3))
    gateway.do("mode", mode="no_notifications")
    gateway.do("pay", payment_id=silent["payment_id"])
    gateway.do("mode", mode="stale_notifications")
    gateway.do("pay", payment_id=stale["payment_id"])
    gateway.do("mode", mode="forged_notifications")
    gateway.do("pay", payment_id=forged["payment_id"])
    eventually(lambda: _payment(user, forged["payment_id"])["status"] == "paid")
    before_fen = user.balance_fen()

    _transfers(invoke, "sweep")

    assert before_fen == 20
    assert user.balance_fen() == 123
    told = [
        notification
        for notification in gateway.see("notifications")
        if notification["kind"] in {"forged", "stale"}
    ]
    assert len(told) >= 6
    assert {notification["status"] for notification in told} == {401}


def test_the_wallet_of_the_host_pays_in_and_its_forged_results_are_refused(
    a_user: MakeUser, wallet: Counterparty, eventually: Eventually
) -> None:
    user = a_user()
    wallet.do("mode", mode="forged_notifications")
    started = _start(user, 700, "host", method="jsapi")

    wallet.do("pay", payment_id=started["payment_id"], payer=user.host_id)

    eventually(lambda: _payment(user, started["payment_id"])["status"] == "paid")
    assert (started["wechat"], _kinds(user)) == (None, [("payment", 700)])
    forged = [
        notification
        for notification in wallet.see("notifications")
        if notification["kind"] == "forged"
    ]
    assert {notification["status"] for notification in forged} == {401}


def test_a_packet_that_its_sender_pays_for_begins_with_the_payment(
    a_user: MakeUser, gateway: Counterparty, eventually: Eventually
) -> None:
    sender, claimer = a_user(), a_user()
    sent = sender.send("pays", total_fen=200, count=1, pay_with="wechat")
    again = sender.send("pays", total_fen=200, count=1, pay_with="wechat")
    packet = sent.json()
    packet_id, payment_id = packet["packet_id"], packet["payment_id"]
    early = claimer.grab(packet_id)
    unpaid = sender.record(packet_id)

    gateway.do("pay", payment_id=payment_id)

    eventually(lambda: _payment(sender, payment_id)["status"] == "paid")
    assert (sent.status_code, packet["status"]) == (201, "unpaid")
    assert packet["wechat"]["code_url"]
    assert (again.json()["packet_id"], again.json()["payment_id"]) == (packet_id, payment_id)
    assert _refused(early) == (409, "packet_not_started")
    assert unpaid["status"] == "unpaid"
    assert sender.balance_fen() == 0
    assert claimer.grab(packet_id).json()["amount_fen"] == 200
    eventually(lambda: claimer.balance_fen() == 200)
    assert _kinds(sender) == [("send", -200), ("payment", 200)]


def test_senders_and_operators_end_packets_early(
    a_user: MakeUser,
    operator: HttpUser,
    invoke: Invoke,
    eventually: Eventually,
) -> None:
    sender, claimer = a_user(funds_fen=500), a_user()
    till = a_user(f"till-{uuid.uuid4().hex[:8]}", funds_fen=500, scope="hongbao/operate")
    now_ms = time.time_ns() // 1_000_000
    plan = {"title": "Gala", "starts_at_ms": now_ms, "ends_at_ms": now_ms + 3_600_000}
    campaign_id = f"ends-{uuid.uuid4().hex[:8]}"
    plan |= {"budget_fen": 500, "status": "on"}
    assert operator.http.put(f"/admin/campaigns/{campaign_id}", json=plan).is_success
    equal: dict[str, Any] = {"kind": "equal", "total_fen": 500, "count": 5}
    own = sender.send(**equal).json()["packet_id"]
    rain = till.post("/admin/packets", {**equal, "campaign_id": campaign_id}).json()["packet_id"]
    unpaid = sender.send(**equal, pay_with="wechat").json()
    for packet_id in (own, rain):
        assert claimer.grab(packet_id).json()["amount_fen"] == 100

    paths = [f"/packets/{each}/end" for each in (own, unpaid["packet_id"])]
    strangers = [a_user().http.post(path) for path in (*paths, f"/packets/{rain}/end")]
    reason = {"reason": "sent twice"}
    ended = [sender.http.post(path) for path in paths]
    ended.append(till.http.post(f"/admin/packets/{rain}/end", json=reason))
    repeated = [sender.http.post(path) for path in paths]
    repeated.append(till.http.post(f"/admin/packets/{rain}/end", json=reason))
    late = [a_user().grab(packet_id) for packet_id in (own, rain, unpaid["packet_id"])]
    invoke("ExpireFunction", {"source": "aws.events"})

    assert [_refused(each) for each in strangers] == [(404, "packet_not_found")] * 3
    assert [each.status_code for each in ended] == [202] * 3
    assert [each.json() for each in repeated] == [each.json() for each in ended]
    assert [_refused(each) for each in late] == [(410, "packet_expired")] * 3
    eventually(lambda: [user.balance_fen() for user in (sender, till, claimer)] == [400, 400, 200])
    # Sweep once the claims of both packets are settled.
    invoke("ExpireFunction", {"source": "aws.events"})
    assert [sender.record(each)["status"] for each in (own, rain)] == ["closed", "closed"]
    assert sender.record(unpaid["packet_id"])["status"] == "cancelled"


def test_withdrawals_are_confirmed_canceled_and_paid_by_the_host(
    stack: Stack,
    a_user: MakeUser,
    gateway: Counterparty,
    invoke: Invoke,
    eventually: Eventually,
) -> None:
    user = a_user(funds_fen=1000)
    other = a_user()
    assert user.http.post("/me/wechat", json={"code": "code-ann"}).json()["is_bound"]
    confirmed, regretted = (_withdraw(user, fen) for fen in (100, 200))
    by_host, uncalled = _withdraw(user, 300, "host"), _withdraw(user, 50)
    cancelled = user.http.post(f"/me/withdrawals/{uncalled['withdrawal_id']}/cancel")
    held_fen = user.balance_fen()

    _transfers(invoke, "dispatch")
    shown = _withdrawal(user, confirmed["withdrawal_id"])
    response = user.http.post(f"/me/withdrawals/{regretted['withdrawal_id']}/cancel")
    gateway.do("confirm", withdrawal_id=confirmed["withdrawal_id"])

    eventually(lambda: _withdrawal(user, confirmed["withdrawal_id"])["status"] == "paid")
    path = f"/me/withdrawals/{confirmed['withdrawal_id']}"
    assert _refused(user.http.post(f"{path}/cancel")) == (409, "not_cancellable")
    assert _refused(other.http.get(path)) == (404, "withdrawal_not_found")
    assert _refused(other.http.post(f"{path}/cancel")) == (404, "withdrawal_not_found")
    assert (cancelled.status_code, cancelled.json()["status"]) == (202, "cancelling")
    assert held_fen == 350
    assert shown["status"] == "awaiting_confirmation"
    assert set(shown["wechat"]) == {"app_id", "mch_id", "package"}
    assert all(shown["wechat"].values())
    assert _withdrawal(user, by_host["withdrawal_id"])["status"] == "paid"
    assert response.json()["status"] == "cancelling"

    def is_back() -> bool:
        _age(stack, regretted["withdrawal_id"], LEASE_MS)
        _transfers(invoke, "sweep")
        ends = {
            _withdrawal(user, each["withdrawal_id"])["status"] for each in (regretted, uncalled)
        }
        return ends == {"cancelled"}

    eventually(is_back)
    assert user.balance_fen() == 600
    assert sorted(_kinds(user)) == sorted(
        [
            ("deposit", 1000),
            ("withdrawal", -100),
            ("withdrawal", -200),
            ("withdrawal_returned", 200),
            ("withdrawal", -300),
            ("withdrawal", -50),
            ("withdrawal_returned", 50),
        ]
    )


def test_an_account_belongs_to_one_user_who_can_sign_in_with_it(
    stack: Stack, a_user: MakeUser
) -> None:
    ben, cat = a_user(), a_user()
    bound = [ben.http.post("/me/wechat", json={"code": code}) for code in ("code-ben", "code-ben")]
    taken = cat.http.post("/me/wechat", json={"code": "code-ben"})
    wrong = cat.http.post("/me/wechat", json={"code": "used"})
    bad = cat.http.post("/me/wechat", json={"code": ""})

    with httpx.Client(base_url=stack.api, timeout=30, trust_env=False, verify=NO_TLS) as stranger:
        signed_in = [stranger.post("/auth/wechat", json={"code": "code-guest"}) for _ in range(2)]
        refused = stranger.post("/auth/wechat", json={"code": "used"})
        tokens = [answer.json()["token"] for answer in signed_in]
        shown = [
            stranger.get("/me", headers={"Authorization": f"Bearer {token}"}) for token in tokens
        ]

    link = bound[0].json()
    assert [answer.json() for answer in bound] == [link] * 2
    assert link == ben.http.get("/me/wechat").json() | {"is_bound": True}
    assert link["opens_at_ms"] == link["bound_at_ms"]
    assert cat.http.get("/me/wechat").json()["is_bound"] is False
    assert _refused(taken) == (409, "openid_in_use")
    assert _refused(wrong) == _refused(refused) == (422, "code_invalid")
    assert _refused(bad) == (422, "invalid_request")
    assert [answer.status_code for answer in shown] == [200, 200]
    assert shown[0].json()["user_token"] == shown[1].json()["user_token"]
    assert signed_in[0].json()["expires_at_ms"] > time.time() * 1000
    # Sign-in also links the account for withdrawals, so nobody else can link it.
    assert _refused(cat.http.post("/me/wechat", json={"code": "code-guest"}))[1] == "openid_in_use"


def test_a_user_with_consent_is_paid_without_a_tap(
    a_user: MakeUser, gateway: Counterparty, invoke: Invoke, eventually: Eventually
) -> None:
    user = a_user(funds_fen=500)
    ask = {"display_name": "小丹"}
    too_early = user.http.post("/me/wechat/authorization", json=ask)
    user.http.post("/me/wechat", json={"code": "code-dan"})
    response = user.http.post("/me/wechat/authorization", json=ask)
    (number,) = [
        authorization["number"]
        for authorization in gateway.see("book")["authorizations"]
        if authorization["state"] == "WAIT_USER_CONFIRM"
    ]

    gateway.do("confirm", authorization_no=number)
    eventually(
        lambda: user.http.post("/me/wechat/authorization", json=ask).json()["status"] == "active"
    )
    held = _withdraw(user, 200)
    _transfers(invoke, "dispatch")
    paid = _withdrawal(user, held["withdrawal_id"])
    ended = user.http.delete("/me/wechat/authorization")

    assert _refused(too_early) == (409, "payee_not_bound")
    assert (response.status_code, response.json()["status"]) == (202, "awaiting_confirmation")
    assert response.json()["wechat"]["package"]
    assert (paid["status"], paid["wechat"]) == ("paid", None)
    assert ended.json()["status"] in {"closing", "closed"}
    assert user.balance_fen() == 300


def test_pending_payments_are_compared_with_the_books_of_the_providers(
    stack: Stack, gateway: Counterparty, wallet: Counterparty, dynamodb: Any, invoke: Invoke
) -> None:
    _transfers(invoke, "sweep")

    came, went = _moved(gateway), _moved(wallet)
    outside = {"in": came["in"] | went["in"], "out": came["out"] | went["out"]}
    ours: dict[str, dict[str, int]] = {"in": {}, "out": {}}
    for page in dynamodb.get_paginator("scan").paginate(TableName=stack.outputs["PaymentsTable"]):
        for row in page["Items"]:
            if row.get("payment_status", {}).get("S") == "paid":
                ours["in"][row["number"]["S"]] = int(row["amount_fen"]["N"])
            if row.get("withdrawal_status", {}).get("S") == "paid":
                transfer_no = f"{row['withdrawal_id']['S']}{int(row['attempt_no']['N']):02d}"
                ours["out"][transfer_no] = int(row["amount_fen"]["N"])

    assert len(outside["in"]) >= PAYMENTS
    assert ours == outside


def _moved(side: Counterparty) -> dict[str, dict[str, int]]:
    """Return the amounts that a counterparty moved in and out, each keyed by our number."""
    book = side.see("book")
    return {
        "in": {
            entry["number"]: entry["paid_fen"] - entry["refunded_fen"]
            for entry in book["in"]
            if entry["paid_fen"]
        },
        "out": {
            entry["number"]: entry["amount_fen"]
            for entry in book["out"]
            if entry["state"] in {"SUCCESS", "succeeded"}
        },
    }


def test_logs_contain_no_key_and_no_openid(stack: Stack) -> None:
    logs: Any = stack.aws("logs")
    groups = [
        group["logGroupName"]
        for page in logs.get_paginator("describe_log_groups").paginate()
        for group in page["logGroups"]
    ]
    logged = "\n".join(
        event["message"]
        for group in groups
        for page in logs.get_paginator("filter_log_events").paginate(logGroupName=group)
        for event in page["events"]
    )
    merchant = json.loads((stack.state_dir / "payments" / "merchant.json").read_text())
    secret = [
        *(merchant[name] for name in ("app_secret", "api_v3_key", "private_key", "cert_serial")),
        *json.loads((stack.state_dir / "payments" / "wallet.json").read_text()).values(),
        *_inner_lines(stack.state_dir / "issuer.json"),
        *(openid_of(merchant["app_id"], code.removeprefix("code-")) for code in CODES),
        *CODES,
    ]

    assert '"message":"sweep"' in logged.replace(" ", "")
    assert [text for text in secret if text in logged] == []


def _inner_lines(file: Path) -> list[str]:
    """Return the subject key in the issuer's file, and one line of each private key."""
    kept = json.loads(file.read_text())
    return [kept["subject_key"], *(key["private_key"].splitlines()[1] for key in kept["keys"])]
