"""Deposits: limits, campaign accounts, lost requests, and cases."""

from dataclasses import replace

import pytest

from redpacket.ledger.use_cases.deposit import deposit
from redpacket.platform.errors import Forbidden, IdempotencyKeyReused, InvalidRequest
from redpacket.platform.idempotency import Request
from testing.in_memory_system import DEPOSIT_FEN_MAX, InMemorySystem, a_person, an_order


def _deposit(
    system: InMemorySystem,
    user_id: str,
    amount_fen: int,
    *,
    operator: str = "boss",
    key: str = "key",
    amount_fen_max: int = DEPOSIT_FEN_MAX,
    is_for_campaigns: bool = False,
) -> tuple[str, int]:
    return deposit(
        a_person(user_id),
        amount_fen,
        Request(operator, key, str(amount_fen)),
        is_for_campaigns=is_for_campaigns,
        ports=replace(system.process().deposit_ports, amount_fen_max=amount_fen_max),
    )


def test_a_deposit_above_the_cap_is_refused(system: InMemorySystem) -> None:
    assert _deposit(system, "ann", DEPOSIT_FEN_MAX)[1] == DEPOSIT_FEN_MAX

    with pytest.raises(InvalidRequest) as refused:
        _deposit(system, "ann", DEPOSIT_FEN_MAX + 1, key="another")

    message = "must be at most 10000000000. Split the deposit"
    assert refused.value.errors == [{"field": "amount_fen", "message": message}]
    assert system.balance_fen("ann") == DEPOSIT_FEN_MAX


def test_an_operator_cannot_credit_themselves(system: InMemorySystem) -> None:
    with pytest.raises(Forbidden):
        _deposit(system, "boss", 1)

    assert system.ledger_state().balances_fen == {}
    assert _deposit(system, "boss", 1, operator="other")[1] == 1


def test_a_repeat_after_the_cap_was_lowered_gets_its_first_answer(system: InMemorySystem) -> None:
    first = _deposit(system, "ann", 1000)

    assert _deposit(system, "ann", 1000, amount_fen_max=10) == first
    with pytest.raises(IdempotencyKeyReused):
        _deposit(system, "ann", 1001, amount_fen_max=10)
    with pytest.raises(InvalidRequest):
        _deposit(system, "ann", 1000, key="new", amount_fen_max=10)
    assert system.balance_fen("ann") == 1000


def test_a_used_account_cannot_be_limited_to_campaigns(system: InMemorySystem) -> None:
    """The mark covers all money in an account, so a mistake would lock the user's own money."""
    _deposit(system, "ann", 1)
    system.send_order(an_order("ann", total_fen=1, count=1))
    assert system.balance_fen("ann") == 0

    with pytest.raises(InvalidRequest) as refused:
        _deposit(system, "ann", 1000, key="campaigns", is_for_campaigns=True)

    assert [error["field"] for error in refused.value.errors] == ["is_for_campaigns"]
    assert _deposit(system, "ann", 500, key="own")[1] == 500
    system.send_order(an_order("ann", key="again", total_fen=500, count=1))


def test_a_campaign_account_accepts_deposits_of_both_kinds(system: InMemorySystem) -> None:
    system.deposit_for_campaigns("desk", 100, Request("boss", "first", "100"))
    for key, is_for_campaigns in (("second", True), ("third", False)):
        _deposit(system, "desk", 100, key=key, is_for_campaigns=is_for_campaigns)

    assert system.balance_fen("desk") == 300
    with pytest.raises(Forbidden):
        system.send_order(an_order("desk", total_fen=100, count=1))


def test_a_deposit_whose_request_was_lost_is_posted_once(system: InMemorySystem) -> None:
    request = Request("ann", "key", "body")
    first, _ = system.process().deposit(a_person("bob"), 500, request)
    system.dynamo.tables["accounts"].pop(("user#ann", "request#deposit#key"))
    system.pass_time(60_000)

    again, balance_fen = system.process().deposit(a_person("bob"), 500, request)

    assert (again, balance_fen) == (first, 500)
    assert system.differences() == []


def test_a_key_whose_request_was_lost_still_refuses_another_body(system: InMemorySystem) -> None:
    system.process().deposit(a_person("bob"), 500, Request("ann", "key", "body"))
    system.dynamo.tables["accounts"].pop(("user#ann", "request#deposit#key"))

    with pytest.raises(IdempotencyKeyReused):
        system.process().deposit(a_person("bob"), 600, Request("ann", "key", "another"))

    assert system.balance_fen("bob") == 500


@pytest.mark.parametrize("cases", [(None, "lost-1"), ("lost-1", None), ("lost-1", "lost-2")])
def test_a_key_refuses_a_body_with_another_case(
    system: InMemorySystem, cases: tuple[str | None, str | None]
) -> None:
    def put(case: str | None) -> tuple[str, int]:
        request = Request("ann", "key", f"body of {case}")
        return deposit(
            a_person("bob"), 500, request, case=case, ports=system.process().deposit_ports
        )

    first = put(cases[0])

    with pytest.raises(IdempotencyKeyReused):
        put(cases[1])
    assert put(cases[0]) == first
    assert system.balance_fen("bob") == 500


def test_operators_make_one_deposit_for_a_case(system: InMemorySystem) -> None:
    ports = system.process().deposit_ports
    requests = [Request(operator, "key", "body") for operator in ("ann", "cat")]

    made = [deposit(a_person("bob"), 500, each, case="lost-1", ports=ports) for each in requests]

    assert made[0] == made[1]
    assert system.balance_fen("bob") == 500
