"""Summary of an operator's action in one sentence for another operator."""

import pytest

from redpacket.approvals.api import summaries
from redpacket.operations.model.operators import Action, ActionKind, Change, changes_between
from redpacket.platform.user import User

PEOPLE = {"a": User("a", "Ann", "ann@host"), "b": User("b", None, "bob")}


def _action(kind: str, subject: str, *changes: Change) -> Action:
    return Action("a", ActionKind(kind), subject, 0, changes)


@pytest.mark.parametrize(
    ("action", "summary"),
    [
        (
            _action("deposit", "user:b", Change("amount_fen", None, "123456789")),
            "Ann deposited ¥1,234,567.89 for bob",
        ),
        (
            _action("campaign_edited", "campaign:gala", *changes_between(None, {"title": "x"})),
            "Ann created campaign gala",
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
            "Ann edited campaign gala: title, budget, ends at",
        ),
        (
            _action(
                "prize_edited",
                "campaign:gala",
                Change("prize_id", "cup", "cup"),
                Change("weight", "1", "2"),
            ),
            "Ann edited prize cup of campaign gala: weight",
        ),
        (
            _action("switch_turned", "switch:send", Change("on", "true", "false")),
            "Ann turned switch send off",
        ),
        (
            _action("limit_set", "limit:grabs", Change("value", "5", None)),
            "Ann set limit grabs to its default",
        ),
        (
            _action("winner_decided", "campaign:gala", Change("winner", "won", "handed_over")),
            "Ann marked unit … of campaign gala as handed over",
        ),
        (_action("reconciled", "ledger"), "Ann started a reconciliation"),
    ],
)
def test_an_action_is_told_in_a_sentence(action: Action, summary: str) -> None:
    assert summaries.action_summary(action, PEOPLE) == summary


@pytest.mark.parametrize("kind", ActionKind)
def test_every_action_has_a_sentence_even_without_its_fields(kind: ActionKind) -> None:
    told = summaries.action_summary(_action(kind, "user:gone"), {})

    assert told.startswith("a ")
    assert "{" not in told


def test_people_without_a_name_are_shown_by_the_host_s_id_or_by_none() -> None:
    assert summaries.named("b", PEOPLE) == {"id": "b", "name": "bob"}
    assert summaries.named("gone", PEOPLE) == {"id": "gone", "name": None}
    assert summaries.subject_name("campaign:a", PEOPLE) is None
    assert summaries.subject_name("user:a", PEOPLE) == "Ann"
    actions = [_action("deposit", "user:b"), _action("reconciled", "ledger")]
    assert summaries.ids_of(actions) == ["a", "a", "b"]
