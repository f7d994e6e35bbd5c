"""Some of the events in events/, and their results when the deployed functions handle them."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.integration.conftest import Invoke, MakeUser

# A scheduled run of a task would change the report of the run that a test invokes.
pytestmark = pytest.mark.usefixtures("only_own_sweeps")

EVENTS = Path(__file__).parents[2] / "events"
SENDER, CLAIMER = "event-sender", "event-taker"


def _event(name: str) -> dict[str, Any]:
    event: dict[str, Any] = json.loads((EVENTS / f"{name}.json").read_text())
    return event


def _answer(result: dict[str, Any]) -> tuple[int, dict[str, Any]]:
    return result["statusCode"], json.loads(result["body"])


def test_pay_begins_a_payment_once(invoke: Invoke) -> None:
    status, payment = _answer(invoke("PaymentFunction", _event("pay")))
    again = _answer(invoke("PaymentFunction", _event("pay")))
    ordered = invoke(
        "OrderFunction", _event("order_payment") | {"payment_id": payment["payment_id"]}
    )

    assert (status, payment["status"], payment["channel"]) == (201, "pending", "host")
    assert again == (status, payment)
    assert ordered == payment


def test_withdraw_holds_the_money_and_dispatch_pays_it_out(
    invoke: Invoke, a_user: MakeUser
) -> None:
    before_fen = a_user(SENDER, funds_fen=300).balance_fen()

    status, held = _answer(invoke("PaymentFunction", _event("withdraw")))
    again_status, again = _answer(invoke("PaymentFunction", _event("withdraw")))
    called = invoke("TransferFunction", _event("dispatch"))
    looked = invoke("TransferFunction", _event("look"))

    assert (status, held["status"]) == (202, "queued")
    assert (again_status, again["withdrawal_id"]) == (202, held["withdrawal_id"])
    assert a_user(SENDER).balance_fen() == before_fen - 300
    assert called["host"]["failed_count"] == looked["failed_count"] == 0
    path = f"/me/withdrawals/{held['withdrawal_id']}"
    assert a_user(SENDER).http.get(path).json()["status"] == "paid"


def test_a_forged_callback_is_refused(invoke: Invoke) -> None:
    status, problem = _answer(invoke("GatewayFunction", _event("callback_forged")))

    assert (status, problem["code"]) == (401, "signature_invalid")


def test_a_batch_of_notices_returns_the_invalid_one(invoke: Invoke) -> None:
    event = _event("notice_batch")

    answer = invoke("TransferFunction", event)

    poison = event["Records"][1]["messageId"]
    assert answer == {"batchItemFailures": [{"itemIdentifier": poison}]}


def test_the_statements_of_a_day_are_compared(invoke: Invoke) -> None:
    report = invoke("TransferFunction", _event("compare_bills"))

    assert set(report) == {"host", "wechat"}
    assert [[statement["differences"] for statement in bills] for bills in report.values()] == [
        [[]],
        [[]],
    ]


def test_operators_edit_a_webhook_and_reconcile(invoke: Invoke) -> None:
    status, webhook = _answer(invoke("WebhooksFunction", _event("webhook_put")))
    ran_status, ran = _answer(invoke("ReconcileFunction", _event("reconcile")))

    assert (status in {200, 201}, webhook["name"]) == (True, "event-shop")
    assert (ran_status, len(ran["run_id"])) == (202, 32)


@pytest.mark.parametrize(
    ("function", "name"),
    [
        ("LogFunction", "extend_log"),
        ("DeliverFunction", "retry_deliveries"),
        ("AnnounceFunction", "announce"),
    ],
)
def test_a_function_without_work_ends(invoke: Invoke, function: str, name: str) -> None:
    assert isinstance(invoke(function, _event(name)), dict)
