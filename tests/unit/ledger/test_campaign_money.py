"""Campaign money: it moves between marked accounts, and an empty one can be unmarked."""

import itertools
from collections.abc import Callable
from typing import Any
from unittest.mock import patch

import pytest

from redpacket.approvals.model import CampaignMoneyAsked
from redpacket.erasure.dynamodb.holdings import DynamoHoldings
from redpacket.erasure.errors import AccountNotEmpty
from redpacket.ledger.errors import InsufficientFunds
from redpacket.ledger.model import year_of, year_window
from redpacket.lottery.model.lottery import PrizeKind
from redpacket.operations.model.allowances import ApprovalNeededError
from redpacket.platform.errors import (
    Contended,
    Forbidden,
    IdempotencyKeyReused,
    InvalidRequest,
)
from redpacket.platform.idempotency import Request
from testing.builders import NOW_MS, a_campaign, a_prize
from testing.in_memory_system import (
    DEPOSIT_FEN_MAX,
    LIFE_MS,
    InMemorySystem,
    a_person,
    an_operator,
    an_order,
)

TREASURER = "treasurer"
_numbers = itertools.count(1)
YEAR_END_MS = year_window(year_of(NOW_MS))[1]


def _mark(system: InMemorySystem, *users: str, amount_fen: int = 6_000) -> None:
    for user in users:
        request = Request(TREASURER, f"mark-{next(_numbers)}", "body")
        system.deposit_for_campaigns(user, amount_fen, request)


def _move(
    system: InMemorySystem, owner: str, payee: str, key: str = "key", operator: str = TREASURER
) -> tuple[str, int]:
    request = Request(operator, key, f"{owner} to {payee}")
    moved: tuple[str, int] = system.process().move_campaign_money(
        a_person(owner), a_person(payee), "she left", request
    )
    return moved


def _unmark(system: InMemorySystem, user: str) -> None:
    system.process().unmark_account(user, a_person(TREASURER))


def _is_marked(system: InMemorySystem, user: str) -> bool:
    return "is_for_campaigns" in system.row("accounts", {"pk": f"user:{user}", "sk": "balance"})


def _actions(system: InMemorySystem, user: str) -> list[tuple[str, dict[str, Any]]]:
    listed, _ = system.process().actions.list_actions(f"user:{user}", None, 50)
    return [
        (each.action.kind, {change.field: change.after for change in each.action.changes})
        for each in listed
    ]


def test_years_are_utc_years_to_the_millisecond() -> None:
    assert year_window(2026) == (1_767_225_600_000, 1_798_761_600_000)
    assert [year_of(1_767_225_600_000 + each) for each in (-1, 0)] == [2025, 2026]


def test_one_operator_alone_cannot_mark_an_account(system: InMemorySystem) -> None:
    request = Request(TREASURER, "key", "body")

    with pytest.raises(ApprovalNeededError):
        system.process().deposit(a_person("victim"), 1, request, is_for_campaigns=True)

    system.deposit("victim", 1)
    assert not _is_marked(system, "victim")


def test_winnings_of_a_marked_user_need_two_operators_to_move(system: InMemorySystem) -> None:
    _mark(system, "victim", "mule", amount_fen=1)
    packet = system.send("alice", total_fen=900, count=1)
    system.grab(packet, "victim")
    system.settle()
    process, request = system.process(), Request(TREASURER, "key", "victim to mule")

    with pytest.raises(ApprovalNeededError) as needed:
        _move(system, "victim", "mule")

    assert (system.balance_fen("victim"), system.balance_fen("mule")) == (901, 1)
    change = CampaignMoneyAsked(
        "victim", "mule", "she left", request.key_hash, request.body_hash, needed.value.amount_fen
    )
    asked = process.ask_approval(needed.value, an_operator(TREASURER), lambda _: change)
    assert process.approve(asked.approval_id, an_operator("other")).is_applied
    assert (system.balance_fen("victim"), system.balance_fen("mule")) == (0, 902)


def test_the_remaining_money_moves_to_another_marked_account(system: InMemorySystem) -> None:
    _mark(system, "carol", "dave")

    transfer_id, left_fen = _move(system, "carol", "dave")

    assert left_fen == 0
    assert (system.balance_fen("carol"), system.balance_fen("dave")) == (0, 12_000)
    facts = dict(_actions(system, "carol"))["campaign_money_moved"]
    assert facts == {
        "transfer_id": transfer_id,
        "amount_fen": "6000",
        "from": "carol",
        "to": "dave",
        "reason": "she left",
    }
    assert system.differences() == []


def test_a_move_is_made_once_for_each_key(system: InMemorySystem) -> None:
    _mark(system, "carol", "dave", "erin")
    first = _move(system, "carol", "dave")
    _mark(system, "carol")

    again = _move(system, "carol", "dave")

    assert (again[0], again[1]) == (first[0], 6_000)
    with pytest.raises(IdempotencyKeyReused):
        _move(system, "carol", "erin")
    assert system.balance_fen("dave") == 12_000
    assert [kind for kind, _ in _actions(system, "carol")].count("campaign_money_moved") == 1
    assert system.differences() == []


def test_a_move_whose_request_was_lost_is_posted_once(system: InMemorySystem) -> None:
    _mark(system, "carol", "dave")
    first = _move(system, "carol", "dave")
    system.dynamo.tables["accounts"].pop((f"user#{TREASURER}", "request#campaign_money#key"))
    _mark(system, "carol")

    assert _move(system, "carol", "dave") == (first[0], 6_000)

    assert system.balance_fen("dave") == 12_000
    assert system.differences() == []


@pytest.mark.parametrize(
    ("owner", "payee", "operator", "refusal"),
    [
        ("carol", "ann", TREASURER, InvalidRequest),
        ("carol", "nobody", TREASURER, InvalidRequest),
        ("carol", "carol", TREASURER, InvalidRequest),
        ("carol", "dave", "dave", Forbidden),
        ("ann", "dave", TREASURER, InsufficientFunds),
        ("nobody", "dave", TREASURER, InsufficientFunds),
    ],
    ids=["to own money", "to nobody", "to itself", "to oneself", "from own money", "from nobody"],
)
def test_campaign_money_moves_only_between_marked_accounts_of_two_others(
    system: InMemorySystem, owner: str, payee: str, operator: str, refusal: type[Exception]
) -> None:
    _mark(system, "carol", "dave")
    system.deposit("ann", 500)

    with pytest.raises(refusal):
        _move(system, owner, payee, operator=operator)

    balances = [system.balance_fen(user) for user in ("carol", "dave", "ann")]
    assert balances == [6_000, 6_000, 500]
    assert system.differences() == []


def test_a_move_during_a_send_leaves_no_account_below_zero(system: InMemorySystem) -> None:
    _mark(system, "carol", "dave")
    campaign = a_campaign()
    system.campaigns.create(campaign)
    balance_fen = type(system.ledger).balance_fen

    def then_sends(ledger: Any, account: str) -> int:
        read: int = balance_fen(ledger, account)
        if account == "user:carol" and read == 6_000:
            system.send_order(an_order("carol", campaign=campaign, total_fen=100))
        return read

    with (
        patch.object(type(system.ledger), "balance_fen", then_sends),
        pytest.raises(InsufficientFunds),
    ):
        _move(system, "carol", "dave")

    assert (system.balance_fen("carol"), system.balance_fen("dave")) == (5_900, 6_000)
    assert _move(system, "carol", "dave")[1] == 0
    assert system.differences() == []


def test_one_move_is_limited_like_a_deposit(system: InMemorySystem) -> None:
    _mark(system, "carol", "dave", amount_fen=DEPOSIT_FEN_MAX)
    _mark(system, "carol", amount_fen=5)

    assert _move(system, "carol", "dave")[1] == 5
    assert _move(system, "carol", "dave", key="rest")[1] == 0

    assert system.balance_fen("dave") == 2 * DEPOSIT_FEN_MAX + 5
    assert system.differences() == []


def test_operators_cannot_unmark_their_own_account(system: InMemorySystem) -> None:
    """Otherwise, they could withdraw another operator's next deposit."""
    _mark(system, "carol", "dave")
    _move(system, "carol", "dave")

    with pytest.raises(Forbidden):
        system.process().unmark_account("carol", a_person("carol"))

    assert _is_marked(system, "carol")


def test_an_empty_account_of_campaign_money_is_unmarked_once(system: InMemorySystem) -> None:
    _mark(system, "carol", "dave")
    with pytest.raises(AccountNotEmpty):
        _unmark(system, "carol")
    _move(system, "carol", "dave")

    for _ in range(2):
        _unmark(system, "carol")

    assert [kind for kind, _ in _actions(system, "carol")].count("campaign_mark_removed") == 1
    system.deposit("carol", 300)
    system.send_order(an_order("carol", total_fen=300, count=1))
    with pytest.raises(InvalidRequest):
        _move(system, "dave", "carol", key="back")
    assert system.differences() == []


def test_an_account_with_money_in_a_campaign_packet_keeps_its_mark(
    system: InMemorySystem,
) -> None:
    """Otherwise, a refund would turn campaign money into the user's own."""
    _mark(system, "carol")
    campaign = a_campaign()
    system.campaigns.create(campaign)
    system.send_order(an_order("carol", campaign=campaign, total_fen=6_000, count=2))
    assert system.balance_fen("carol") == 0

    with pytest.raises(AccountNotEmpty):
        _unmark(system, "carol")
    system.pass_time(LIFE_MS)
    system.sweep()

    assert _is_marked(system, "carol")
    assert system.balance_fen("carol") == 6_000
    assert system.differences() == []


def test_an_account_with_money_in_a_cash_prize_keeps_its_mark(system: InMemorySystem) -> None:
    _mark(system, "operator", amount_fen=88)
    system.campaigns.create(a_campaign(campaign_id="party"))
    prize = a_prize("party", "cash", kind=PrizeKind.PACKET, amount_fen=88, total=1)
    system.put_prize(prize)
    assert system.balance_fen("operator") == 0

    with pytest.raises(AccountNotEmpty):
        _unmark(system, "operator")

    assert _is_marked(system, "operator")
    assert system.differences() == []


@pytest.mark.parametrize("until_ms", [NOW_MS, YEAR_END_MS - 1])
def test_a_concurrent_send_keeps_the_mark(system: InMemorySystem, until_ms: int) -> None:
    system.pass_time(until_ms - NOW_MS)
    _mark(system, "carol", "dave")
    _move(system, "carol", "dave")
    campaign = a_campaign(ends_at_ms=until_ms + LIFE_MS)
    system.campaigns.create(campaign)
    list_sent = DynamoHoldings.list_sent

    def then_funds_a_packet(holdings: DynamoHoldings, user_id: str) -> Any:
        packets = list_sent(holdings, user_id)
        system.pass_time(1)
        _mark(system, "carol", amount_fen=100)
        system.send_order(an_order("carol", campaign=campaign, total_fen=100, count=1))
        return packets

    with (
        patch.object(DynamoHoldings, "list_sent", then_funds_a_packet),
        pytest.raises(Contended),
    ):
        _unmark(system, "carol")

    assert system.balance_fen("carol") == 0
    assert _is_marked(system, "carol")


def test_an_account_of_campaign_money_is_erased_once_it_is_empty(system: InMemorySystem) -> None:
    _mark(system, "carol", "dave")
    erase: Callable[..., None] = system.process().erase_user
    with pytest.raises(AccountNotEmpty, match="move campaign money"):
        erase("carol", bool)
    _move(system, "carol", "dave")

    erase("carol", bool)

    assert system.differences() == []
