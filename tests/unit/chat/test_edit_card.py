"""Cards at each stage of their packets."""

import json

import pytest

from redpacket.chat.api.calls import card_ports
from redpacket.chat.api.cards import edit_batch
from redpacket.chat.errors import ChatBusy, ChatGone
from redpacket.chat.model import Card
from redpacket.chat.use_cases.admit_chat import revoke_chat
from redpacket.chat.use_cases.edit_card import render_card
from redpacket.containers import containers
from redpacket.platform.errors import Unavailable
from redpacket.platform.user import User
from testing.chat_system import GROUP, PIGEON, ChatSystem, a_chat
from testing.fakes import FakeLogger
from testing.in_memory_system import an_operator

SENT = "/hongbao 8.88 3 恭喜发财"


def _lines(loft: ChatSystem) -> list[str]:
    return loft.loft.cards["m-1"][-1].split("\n")


def test_a_card_counts_and_lists_the_claims_at_the_end(loft: ChatSystem) -> None:
    loft.write("ann", SENT)
    packet_id = loft.packet_id()
    loft.tap("bob", packet_id)
    loft.edit(packet_id)
    counted = _lines(loft)

    for name in ("cat", "dan"):
        loft.system.pass_time(31_000)
        loft.tap(name, packet_id)
    loft.system.settle()
    loft.edit(packet_id)

    assert counted == ["🧧 Red packet of ann", "恭喜发财", "1 of 3 taken of ¥8.88"]
    title, greeting, emptied, *claims = _lines(loft)
    assert (title, greeting) == ("🧧 Red packet of ann", "恭喜发财")
    assert emptied == "All 3 taken in 1 min 2 s"
    fen = {name: loft.balance_fen(name) for name in ("bob", "cat", "dan")}
    best = max(fen, key=lambda name: fen[name])
    assert claims == [
        f"👑 {name}  ¥{amount / 100:.2f}  Best luck"
        if name == best
        else f"{name}  ¥{amount / 100:.2f}"
        for name, amount in fen.items()
    ]


def test_a_card_of_an_expired_packet_says_that_the_rest_is_refunded(loft: ChatSystem) -> None:
    loft.admit(a_chat(language="zh"))
    loft.write("ann", SENT)
    packet_id, system = loft.packet_id(), loft.system
    loft.tap("bob", packet_id)
    system.settle()
    system.pass_time(25 * 3_600_000)
    system.sweep()
    system.pass_time(60_000)
    system.sweep()

    loft.edit(packet_id)

    amount = f"¥{loft.balance_fen('bob') / 100:.2f}"
    assert _lines(loft) == [
        "🧧 ann 的红包",
        "恭喜发财",
        "已结束，领取了 1/3 个，其余退回",
        f"bob  {amount}",
    ]


def test_an_erased_member_has_no_name_on_later_cards(loft: ChatSystem) -> None:
    loft.write("ann", SENT)
    containers.users.profiles.erase(loft.user("ann").user_id, loft.system.clock.now_ms())

    loft.edit(loft.packet_id())

    assert _lines(loft)[0] == "🧧 Red packet of A member"


def test_an_edit_is_retried_if_the_platform_limits_it_or_does_not_answer(
    loft: ChatSystem,
) -> None:
    loft.write("ann", SENT)
    packet_id = loft.packet_id()

    loft.loft.answers = [429, None, 404]
    with pytest.raises(ChatBusy) as busy:
        loft.edit(packet_id)
    with pytest.raises(Unavailable):
        loft.edit(packet_id)
    with pytest.raises(ChatGone):
        loft.edit(packet_id)

    assert busy.value.retry_after_s == 2


def test_a_revoked_chat_gets_no_edit(loft: ChatSystem) -> None:
    loft.write("ann", SENT)
    chats, operator = containers.chat.chats, an_operator().person

    revoke_chat(operator, PIGEON, GROUP, 3, chats=chats)
    loft.edit(loft.packet_id())

    assert len(loft.loft.cards["m-1"]) == 1


def test_a_permanent_refusal_ends_an_edit_and_other_failures_return() -> None:
    errors: list[Exception] = [ChatGone("kicked"), Unavailable("away"), ChatBusy(retry_after_s=7)]
    delays: list[tuple[str, int]] = []
    logger = FakeLogger()

    def edit(packet_id: str) -> None:
        raise errors[int(packet_id)]

    records = [
        {"body": json.dumps({"packet_id": str(n)}), "messageId": f"m{n}", "receiptHandle": f"r{n}"}
        for n in range(3)
    ]
    failed = edit_batch(
        records, edit=edit, delay=lambda *given: delays.append(given), logger=logger
    )

    assert failed == {"batchItemFailures": [{"itemIdentifier": "m1"}, {"itemIdentifier": "m2"}]}
    assert delays == [("r2", 7)]
    assert [name for name, _ in logger.errors] == ["card_not_edited", "card_not_edited"]


def test_a_claim_by_the_link_before_the_card_has_a_place_is_shown_later(loft: ChatSystem) -> None:
    def claim(packet_id: str) -> None:
        loft.system.process().grab_packet(packet_id, User("eve", host_id="eve@host"), None)
        # The edit for this claim finds no card yet, and the queue drops a duplicate of that edit.
        loft.system.pass_time(4_000)
        loft.edit(packet_id)

    loft.loft.meanwhile = claim
    loft.write("ann", f"{SENT} +link")
    packet_id = loft.packet_id()
    before = _lines(loft)[-1]
    for queued in loft.queued:
        loft.edit(queued)

    assert (loft.queued, loft.queued.at_ms) == ([packet_id], loft.system.clock.now_ms())
    assert (before, _lines(loft)[-1]) == ("0 of 3 taken of ¥8.88", "1 of 3 taken of ¥8.88")


def test_a_packet_that_only_taps_claim_needs_no_edit_after_its_card(loft: ChatSystem) -> None:
    loft.write("ann", SENT)

    assert loft.queued == []


def test_a_packet_without_a_card_needs_no_edit(loft: ChatSystem) -> None:
    packet = loft.system.send()

    loft.edit(packet.packet_id)

    assert loft.loft.cards == {}


def test_a_card_loses_its_button_after_the_last_share_and_shows_only_an_allowed_link(
    loft: ChatSystem,
) -> None:
    loft.write("ann", "/hongbao 8.88 1 passphrase=sesame")
    secret = loft.packet_id()
    ports = card_ports()

    def card_of(packet_id: str) -> Card:
        record = ports.read_record(packet_id)
        assert record
        return render_card(record, "en", ports=ports)

    before = card_of(secret)
    loft.write("bob", "sesame", answers="m-1")
    after = card_of(secret)
    loft.write("ann", "/hongbao 8.88 1 +link")
    linked = containers.chat.chats.find_packet_id(PIGEON, GROUP, "m-2") or ""

    assert (before.button, after.button, before.link) == ("Open", None, None)
    assert "passphrase" in before.lines[1]
    assert not any("passphrase" in line for line in after.lines)
    assert card_of(linked).link == f"https://share.example/packets/{linked}"
