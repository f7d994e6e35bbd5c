"""Explanations, for operators, of why a withdrawal waits."""

import re
from pathlib import Path

import pytest

from redpacket.payments.model.withdrawals import CALLS_KEPT, LEASE_MS, Withdrawal
from redpacket.payments.ports import QUERY_HORIZON_MS
from redpacket.payments.use_cases import explain_withdrawal as explanations
from redpacket.payments.use_cases.explain_withdrawal import Waiting, explain_withdrawal
from redpacket.payments.use_cases.transfer import sync_transfer
from redpacket.platform.errors import InvalidRequest
from testing.payments.payment_system import PaymentSystem

PAGE = Path(__file__).parents[3] / "web/src/operator/withdrawal-words.ts"


@pytest.fixture
def town() -> PaymentSystem:
    town = PaymentSystem()
    town.system.deposit("user", 1000)
    return town


def _waits_for(town: PaymentSystem, withdrawal: Withdrawal) -> str | None:
    return explain_withdrawal(town.find(withdrawal), town.clock.now_ms()).waits_for


def test_each_wait_has_its_cause(town: PaymentSystem) -> None:
    withdrawal = town.withdraw("user", 300)
    assert _waits_for(town, withdrawal) == "the next call to the provider"

    town.dispatch()
    assert _waits_for(town, withdrawal) == "the provider's answer to a call"
    town.system.pass_time(LEASE_MS)
    assert _waits_for(town, withdrawal) == "the provider to finish the transfer"
    town.sweep()
    assert explain_withdrawal(town.find(withdrawal), 0) == (None, None)


def test_a_cancellation_waits_for_the_provider(town: PaymentSystem) -> None:
    withdrawal = town.withdraw("user", 300)
    town.dispatch()
    town.cancel(withdrawal)

    assert _waits_for(town, withdrawal) == "the provider to cancel the transfer, as the user asked"


def test_a_withdrawal_whose_provider_may_have_forgotten_it_waits_for_an_operator(
    town: PaymentSystem,
) -> None:
    withdrawal = town.withdraw("user", 300)
    town.cancel(withdrawal)
    town.system.pass_time(QUERY_HORIZON_MS - 1)
    early = _waits_for(town, withdrawal)
    town.system.pass_time(1)

    assert early == "the provider to cancel the transfer, as the user asked"
    assert (_waits_for(town, withdrawal) or "").startswith("an operator: after 29 days")


def test_a_withdrawal_that_no_list_contains_is_reported(town: PaymentSystem) -> None:
    withdrawal = town.withdraw("user", 300)
    (row,) = (row for row in town.system.dynamo.tables["payments"].values() if "call_count" in row)
    del row["work_pk"], row["work_at_ms"]

    assert _waits_for(town, withdrawal) == "nothing: no work list contains it"


def test_the_console_translates_every_explanation() -> None:
    module = vars(explanations)
    waits = [each for each in module.values() if isinstance(each, Waiting)]
    waits += module["_STOPPED"].values()

    keys = re.findall(r'^  "(.+?)":', PAGE.read_text(encoding="utf-8"), re.MULTILINE)

    assert set(keys) == {text for wait in waits for text in wait if text}


def test_the_last_answers_of_the_provider_are_stored(town: PaymentSystem) -> None:
    withdrawal = town.called(300, is_away=True)
    assert [each.answer for each in town.find(withdrawal).calls] == ["no answer"]

    for _ in range(CALLS_KEPT + 3):
        town.system.pass_time(2 * LEASE_MS)
        sync_transfer(withdrawal.withdrawal_id, ports=town.transfers)

    calls = town.find(withdrawal).calls
    assert len(calls) == CALLS_KEPT
    assert {each.answer for each in calls} == {"not_found"}
    assert [each.at_ms for each in calls] == sorted(each.at_ms for each in calls)


def test_pending_withdrawals_are_listed_once_page_by_page(town: PaymentSystem) -> None:
    made = {town.withdraw("user", 10).withdrawal_id for _ in range(30)}
    town.system.pass_time(1)
    town.dispatch(100)
    withdrawal_ids: list[str] = []
    cursor: str | None = None
    while True:
        page, cursor = town.lists.list_pending_withdrawals(cursor, 4)
        assert len(page) <= 4
        withdrawal_ids += [each.withdrawal_id for each in page]
        if cursor is None:
            break

    assert sorted(withdrawal_ids) == sorted(made)


def test_a_cursor_of_the_list_of_one_user_is_refused_in_the_list_of_all(
    town: PaymentSystem,
) -> None:
    with pytest.raises(InvalidRequest, match="cursor"):
        town.lists.list_pending_withdrawals("1790000000000#0123", 4)
