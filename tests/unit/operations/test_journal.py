"""Audit log: each change with its author, written with or before the change, and immutable."""

from dataclasses import replace

import pytest

from redpacket.campaigns.model import AudienceMode
from redpacket.ledger.errors import InsufficientFunds
from redpacket.lottery.model.lottery import PrizeKind
from redpacket.operations.dynamodb.audit_log import DynamoActions
from redpacket.operations.model.operators import Action, ActionKind, Change
from redpacket.operations.model.switches import Switch
from redpacket.packets.model.packet import Rules
from redpacket.platform import errors
from redpacket.platform.bounds import CLOCKS_DIFFER_MS
from redpacket.platform.dynamodb.client import Dynamo
from redpacket.platform.idempotency import Request
from testing.builders import a_campaign, a_prize
from testing.fakes import Away, FakeSwitchStore
from testing.in_memory_system import InMemorySystem, a_person, an_operator, an_order
from testing.platform.fake_tables import TABLE_NAMES

ANN = an_operator("ann")


@pytest.fixture
def system() -> InMemorySystem:
    return InMemorySystem()


def _actions(system: InMemorySystem) -> DynamoActions:
    return DynamoActions(Dynamo(lambda: system.dynamo, TABLE_NAMES))


def _noted(system: InMemorySystem, subject: str | None = None) -> list[Action]:
    page, _ = _actions(system).list_actions(subject, None, 100)
    return [noted.action for noted in page]


def _kinds(system: InMemorySystem) -> list[ActionKind]:
    return [action.kind for action in _noted(system)]


def test_a_deposit_is_logged_once_with_its_result(system: InMemorySystem) -> None:
    request = Request("ann", "key", "body")

    for _ in range(2):
        transfer_id, _ = system.process().deposit(a_person("bob"), 500, request)
    with pytest.raises(errors.IdempotencyKeyReused):
        system.process().deposit(a_person("bob"), 600, replace(request, body_hash="other"))

    (action,) = _noted(system)
    by_ann = ("ann", ActionKind.DEPOSIT, "user:bob")
    assert (action.operator_id, action.kind, action.subject) == by_ann
    assert action.at_ms == system.clock.now_ms()
    assert action.changes == (
        Change("transfer_id", None, transfer_id),
        Change("amount_fen", None, "500"),
    )


def test_an_edit_is_logged_with_the_fields_that_it_changes(system: InMemorySystem) -> None:
    plan = a_campaign(campaign_id="gala", version=1)
    edit = system.process().apply_campaign
    edit(plan, 100, None, ANN)
    system.clock.sleep_ms(1)

    edit(replace(plan, title="new", passphrase="天王盖地虎"), 300, 1, ANN)
    # Neither a retried edit nor an edit of an outdated version is recorded.
    edit(replace(plan, title="new", passphrase="天王盖地虎"), 300, 1, ANN)
    with pytest.raises(errors.VersionConflict):
        edit(plan, 100, 1, ANN)

    last, first = _noted(system, "campaign:gala")
    assert {change.before for change in first.changes} == {None}
    assert last.changes == (
        Change("title", "红包雨", "new"),
        Change("passphrase", None, "..."),
        Change("budget_fen", "100", "300"),
        Change("version", "1", "2"),
    )


def test_an_edit_of_the_plan_does_not_report_a_changed_audience(system: InMemorySystem) -> None:
    plan = a_campaign(campaign_id="gala", version=1)
    edit = system.process().apply_campaign
    edit(plan, 100, None, ANN)
    system.audience_rows.set_mode("gala", AudienceMode.ALLOW, 1)
    system.clock.sleep_ms(1)

    edited, _ = edit(replace(plan, title="new"), 100, 2, ANN)

    assert edited.campaign.audience_mode is AudienceMode.ALLOW
    assert {change.field for change in _noted(system, "campaign:gala")[0].changes} == {
        "title",
        "version",
    }


def test_money_in_prizes_is_logged_with_its_packet(system: InMemorySystem) -> None:
    assert system.campaigns.create(a_campaign(campaign_id="gala"))
    cash = a_prize("gala", "cash", kind=PrizeKind.PACKET, amount_fen=10, total=5)
    with pytest.raises(InsufficientFunds):
        system.process().apply_prize(cash, None, ANN)
    assert _noted(system) == []
    system.deposit("ann", 1_000)

    prize, _, _ = system.process().apply_prize(cash, None, ANN)
    request = Request("ann", "more", "1")
    for _ in range(2):
        system.process().apply_stock("gala", "cash", 1, None, ANN, request)

    actions = {action.kind: action for action in _noted(system, "campaign:gala")}
    kinds = ["deposit", "prize_edited", "prize_funded", "prize_funded", "stock_changed"]
    assert sorted(_kinds(system)) == kinds
    (funded,) = prize.packets
    assert Change("total", "5", "6") in actions[ActionKind.STOCK_CHANGED].changes
    assert Change("prize_id", "cash", "cash") in actions[ActionKind.STOCK_CHANGED].changes
    assert funded[0] in {
        change.after
        for action in _noted(system)
        for change in action.changes
        if change.field == "packet_id"
    }


def test_a_packet_of_an_operator_is_logged_and_one_of_a_user_is_not(system: InMemorySystem) -> None:
    campaign = system.rain()
    system.send()
    packet = system.send_of(campaign)
    order = an_order(rules=Rules(campaign_id=campaign.campaign_id), campaign=campaign)
    with pytest.raises(InsufficientFunds):
        system.send_order(order)

    (sent,) = _noted(system, f"campaign:{campaign.campaign_id}")

    assert (sent.kind, sent.operator_id) == (ActionKind.PACKET_SENT, packet.sender.user_id)
    assert Change("packet_id", None, packet.packet_id) in sent.changes
    assert sorted(_kinds(system)) == ["deposit", "deposit", "packet_sent"]


def test_a_switch_is_logged_before_it_is_turned(system: InMemorySystem) -> None:
    store = FakeSwitchStore()
    store.put = Away(error=errors.Unavailable).put  # type: ignore[method-assign]
    process = system.process(switch_store=store)
    with pytest.raises(errors.Unavailable):
        process.turn_switch(Switch.SEND, is_on=False, reason="why", operator=a_person("ann"))
    del store.put

    for _ in range(2):
        process.turn_switch(Switch.SEND, is_on=False, reason="why", operator=a_person("ann"))

    turned, meant = _noted(system, "switch:send")
    assert turned == meant
    assert turned.changes == (Change("on", "true", "false"), Change("reason", "", "why"))


def test_a_failed_change_is_not_logged(system: InMemorySystem) -> None:
    def fail(_operations: object) -> None:
        raise errors.Unavailable("away")

    system.before_first_transaction(fail)

    with pytest.raises(errors.Unavailable):
        system.process().deposit(a_person("bob"), 500, Request("ann", "key", "body"))

    assert _noted(system) == []


def test_the_audit_log_continues_after_the_last_row_of_a_page(system: InMemorySystem) -> None:
    actions = _actions(system)
    for number in range(5):
        subject = "ledger" if number % 2 else "user:bob"
        actions.note(Action(a_person(f"op-{number}"), ActionKind.RECONCILED, subject, number // 2))

    def walk(subject: str | None, limit: int = 2) -> list[str]:
        operator_ids: list[str] = []
        cursor: str | None = None
        while True:
            page, cursor = actions.list_actions(subject, cursor, limit)
            operator_ids += [noted.action.operator_id for noted in page]
            if cursor is None:
                return operator_ids

    page, _ = actions.list_actions(None, None, 9, 1 - CLOCKS_DIFFER_MS)
    assert {noted.action.at_ms for noted in page} == {0, 1}
    for limit in (1, 2, 3):
        assert sorted(walk(None, limit)) == [f"op-{number}" for number in range(5)]
    assert walk("user:bob") == ["op-4", "op-2", "op-0"]
    assert walk("ledger") == ["op-3", "op-1"]
    for cursor in ("", "x", "0000000000001#", "0000000000001#0123456789abcdef\n"):
        with pytest.raises(errors.InvalidRequest):
            actions.list_actions(None, cursor, 2)
