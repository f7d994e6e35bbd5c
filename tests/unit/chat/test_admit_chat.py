"""Admission of chats by operators."""

from dataclasses import replace

import pytest

from redpacket.chat.errors import ChatNotFound
from redpacket.chat.use_cases.admit_chat import list_chats, revoke_chat
from redpacket.containers import containers
from redpacket.operations.model.operators import Action, ActionKind, Change
from testing.chat_system import GROUP, PIGEON, ChatSystem, a_chat
from testing.in_memory_system import an_operator


def _logged(loft: ChatSystem, chat_id: str) -> list[Action]:
    logged, _ = loft.system.actions.list_actions(f"chat:pigeon:{chat_id}", None, 10)
    return [each.action for each in logged]


def test_admissions_are_logged_with_their_changes(loft: ChatSystem) -> None:
    chats, operator = containers.chat.chats, an_operator().person
    for chat in (a_chat(), a_chat(day_fen=5, admitted_at_ms=2)):
        loft.admit(chat)

    revoke_chat(operator, PIGEON, GROUP, 3, chats=chats)
    logged = _logged(loft, GROUP)

    assert [each.kind for each in logged] == [
        ActionKind.CHAT_REVOKED,
        ActionKind.CHAT_ADMITTED,
        ActionKind.CHAT_ADMITTED,
    ]
    assert logged[1].changes == (Change("day_fen", "10000", "5"),)
    assert {each.operator_id for each in logged} == {operator.user_id}
    assert list_chats(chats=chats) == []


def test_a_changed_chat_keeps_the_time_of_its_admission(loft: ChatSystem) -> None:
    other = loft.admit(a_chat("a-2"))

    changed = loft.admit(a_chat(language="zh", admitted_at_ms=9))

    assert changed == a_chat(language="zh")
    assert list_chats(chats=containers.chat.chats) == [other, changed]


def test_a_forged_move_has_no_effect_after_a_decision_by_an_operator(loft: ChatSystem) -> None:
    chats, operator = containers.chat.chats, an_operator().person
    rich = loft.admit(a_chat("g-rich", day_fen=99_999))
    for place in ("g-2", "g-3"):
        chats.move(rich, place)
    assert chats.find(PIGEON, "g-2") == rich

    own = loft.admit(a_chat("g-2", day_fen=5))
    revoke_chat(operator, PIGEON, "g-3", 3, chats=chats)

    found = [chats.find(PIGEON, place) for place in ("g-2", "g-3", "g-rich")]
    assert found == [own, None, rich]
    assert [each.kind for each in _logged(loft, "g-3")] == [ActionKind.CHAT_REVOKED]
    assert [each.kind for each in _logged(loft, "g-rich")] == [ActionKind.CHAT_ADMITTED]


def test_a_move_captures_no_chat_that_an_operator_decided_about(loft: ChatSystem) -> None:
    chats, operator = containers.chat.chats, an_operator().person
    rich, own = loft.admit(a_chat("g-rich", day_fen=99_999)), loft.admit(a_chat("g-2"))
    loft.admit(a_chat("g-3"))
    revoke_chat(operator, PIGEON, "g-3", 3, chats=chats)

    for place in ("g-2", "g-3", "g-rich"):
        chats.move(rich, place)

    found = [chats.find(PIGEON, place) for place in ("g-2", "g-3", "g-rich")]
    assert found == [own, None, rich]


def test_a_revoked_chat_does_nothing_until_it_is_admitted_again(loft: ChatSystem) -> None:
    chats = containers.chat.chats
    revoke_chat(an_operator().person, PIGEON, GROUP, 3, chats=chats)
    loft.write("ann", "/hongbao 8.88 3")
    with pytest.raises(ChatNotFound):
        revoke_chat(an_operator().person, PIGEON, GROUP, 4, chats=chats)

    again = loft.admit(replace(a_chat(), admitted_at_ms=5))
    loft.write("ann", "/hongbao 8.88 3")

    assert again.admitted_at_ms == 5
    assert len(loft.loft.cards) == 1
