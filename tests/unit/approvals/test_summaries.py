"""One-sentence summary of an operator's action, written for another operator."""

import pytest

from redpacket.approvals.api import summaries
from redpacket.approvals.model import Approval, DepositAsked
from redpacket.operations.model.operators import Action, ActionKind, Change, changes_between
from redpacket.platform.user import User

PEOPLE = {"a": User("a", "Ann", "ann@host"), "b": User("b", None, "bob")}


def _action(kind: str, subject: str, *changes: Change) -> Action:
    return Action(User("a"), ActionKind(kind), subject, 0, changes)


def _sent(**rules: object) -> Action:
    facts = {"total_fen": 200, "count": 2, **rules}
    return _action("packet_sent", "campaign:gala", *changes_between(None, facts))


@pytest.mark.parametrize(
    ("action", "summary"),
    [
        (
            _action("deposit", "user:b", Change("amount_fen", None, "123456789")),
            "ann@host deposited ¥1,234,567.89 for bob",
        ),
        (
            _action(
                "deposit",
                "user:b",
                *changes_between(None, {"amount_fen": 100, "is_for_campaigns": True}),
            ),
            "ann@host deposited ¥1.00 for bob, for campaigns only",
        ),
        (
            _action("campaign_edited", "campaign:gala", *changes_between(None, {"title": "x"})),
            "ann@host created campaign gala",
        ),
        (
            _action(
                "campaign_edited",
                "campaign:gala",
                *changes_between(
                    {"title": "x", "budget_fen": 1, "ends_at_ms": 1, "status": "on"},
                    {"title": "y", "budget_fen": 2, "ends_at_ms": 2, "status": "on"},
                ),
            ),
            "ann@host edited campaign gala: title, budget, ends at",
        ),
        (
            _action(
                "prize_edited",
                "campaign:gala",
                Change("prize_id", "cup", "cup"),
                Change("weight", "1", "2"),
            ),
            "ann@host edited prize cup of campaign gala: weight",
        ),
        (
            _action("switch_turned", "switch:send", Change("on", "true", "false")),
            "ann@host turned switch send off",
        ),
        (
            _action("limit_set", "limit:grabs", Change("value", "5", None)),
            "ann@host set limit grabs to its default",
        ),
        (
            _action("winner_decided", "campaign:gala", Change("winner", "won", "handed_over")),
            "ann@host marked unit … of campaign gala as handed over",
        ),
        (_action("reconciled", "ledger"), "ann@host started a reconciliation"),
        (
            _sent(recipients=2),
            "ann@host sent a packet of ¥2.00 in 2 shares to 2 chosen recipients for campaign gala",
        ),
        (
            _sent(recipients=0, has_passphrase=True),
            "ann@host sent a packet of ¥2.00 in 2 shares with a passphrase for campaign gala",
        ),
        (_sent(), "ann@host sent a packet of ¥2.00 in 2 shares for campaign gala"),
    ],
)
def test_an_action_is_summarized_in_one_sentence(action: Action, summary: str) -> None:
    assert summaries.action_summary(action, PEOPLE) == summary


@pytest.mark.parametrize("kind", ActionKind)
def test_every_action_has_a_sentence_even_without_its_fields(kind: ActionKind) -> None:
    told = summaries.action_summary(_action(kind, "user:gone"), {})

    assert told.startswith("a ")
    assert "{" not in told


def test_a_nickname_is_a_field_beside_the_host_s_id_and_in_no_sentence() -> None:
    pending = Approval("id", User("b"), (), DepositAsked("a", 1, "", ""), 0)
    renamed = {**PEOPLE, "a": User("a", "Refunds Dept", "ann@host")}

    for users in (PEOPLE, renamed):
        told = summaries.action_summary(_action("user_erased", "user:b"), users)
        assert told == "ann@host erased bob"
        asked = summaries.approval_summary(pending, users)
        assert asked == "bob asks to deposit ¥0.01 for ann@host"

    subject = {"subject": "user:a", "subject_user": "ann@host", "subject_name": "Refunds Dept"}
    assert summaries.subject_of("user:a", renamed) == subject
    assert set(summaries.subject_of("campaign:a", PEOPLE).values()) == {"campaign:a", None}
    actions = [_action("deposit", "user:b"), _action("reconciled", "ledger")]
    assert summaries.ids_of(actions) == ["a", "a", "b"]


def test_the_owner_and_the_receiver_of_moved_money_are_named_by_the_host_s_id() -> None:
    facts = {"from": "a", "to": "gone", "reason": "a"}
    moved = _action("campaign_money_moved", "user:a", *changes_between(None, facts))

    assert summaries.ids_of([moved]) == ["a", "a", "a", "gone"]
    shown = summaries.change_views(moved.changes, PEOPLE)
    assert [each["after"] for each in shown] == ["ann@host", "gone", "a"]


def test_an_erased_user_is_a_pseudonym_and_an_erased_operator_keeps_the_host_s_id() -> None:
    operator = User("a", host_id="ann@host")

    told = summaries.action_summary(Action(operator, ActionKind.DEPOSIT, "user:b", 0), {})

    assert told == "ann@host deposited … for b"
    assert summaries.named(operator, {}) == {"id": "a", "user": "ann@host", "name": None}
