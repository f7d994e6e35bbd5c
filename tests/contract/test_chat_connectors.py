"""One suite for every chat connector, with platforms that are simulated as documented."""

import dataclasses
import time
from collections.abc import Iterator

import pytest

from local.chat.room import PEOPLE
from redpacket.chat.connector_name import ConnectorName
from redpacket.chat.errors import ChatBusy, ChatGone
from redpacket.chat.model import Card, Message, Tap
from redpacket.payments.errors import SignatureInvalid
from testing.chat_platforms import Joined, joined, registry_line

MING, ANN, BOB = PEOPLE
PACKET_ID = f"{'p' * 31}~64"
CARD = Card(PACKET_ID, "Ann's packet", ("2 of 5", "恭喜发财"), "Open", "https://p.example/1", None)
HOSTILE = Card(PACKET_ID, "<b>&amp; _*[", ("</b> <script>", "Bob <3 & co: \\ `"), "抢", None, None)
SENT = "/hongbao 8.88 5"


@pytest.fixture(params=["telegram", "lark", "pigeon"])
def chat(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Joined]:
    """Connect each connector of the registry, and a third one, to its simulated platform."""
    line = registry_line()
    monkeypatch.setitem(ConnectorName._member_map_, "PIGEON", line)
    monkeypatch.setitem(ConnectorName._value2member_map_, "pigeon", line)
    with joined(ConnectorName(request.param)) as chat:
        # The rate limiter's clock advances by a second at each call, so most tests reach no limit.
        clock = [0.0]

        def next_second() -> float:
            clock[0] += 1
            return clock[0]

        chat.platform.rates.now_s = next_second
        yield chat


def mention(chat: Joined, text: str) -> str:
    """Return *text* as a group member sends it to the bot."""
    return f"@{chat.platform.bot_name} {text}" if chat.platform.name == "lark" else text


def posted(chat: Joined, card: Card = CARD) -> str:
    return chat.connector.post(chat.group.chat_id, card, "key-1")


def text_of(chat: Joined, message_id: str) -> str:
    shown = chat.group.find(message_id)
    assert shown
    return "".join(text for text, _ in shown.runs)


def test_a_command_has_its_member_and_chat(chat: Joined) -> None:
    chat.write(ANN, mention(chat, SENT))

    message = chat.call()

    assert isinstance(message, Message)
    assert (message.text, message.member.name, message.is_private) == (SENT, "Ann", False)
    assert message.chat_id == chat.group.chat_id
    assert message.member.host_id.startswith(f"{chat.platform.name}:")


def test_members_have_different_and_constant_ids(chat: Joined) -> None:
    host_ids = []
    for person in (MING, ANN, ANN):
        chat.write(person, mention(chat, "/balance"))
        host_ids.append(chat.call().member.host_id)

    ming, ann, again = host_ids

    assert ming != ann
    assert ann == again


def test_a_reply_to_a_card_names_the_card(chat: Joined) -> None:
    card = posted(chat)

    chat.write(BOB, mention(chat, "芝麻开门"), answers=card)

    message = chat.call()
    assert (message.text, message.answers_message_id) == ("芝麻开门", card)


def test_messages_in_a_private_chat_are_private(chat: Joined) -> None:
    chat.write(ANN, "/balance", place="private")

    assert chat.call().is_private


def test_an_altered_or_forged_call_is_refused(chat: Joined) -> None:
    chat.write(ANN, mention(chat, SENT))
    chat.call()
    headers, body = chat.raw[0]
    now_ms = time.time_ns() // 1_000_000

    for name, value in headers.items():
        if name.startswith("x-"):
            with pytest.raises(SignatureInvalid):
                chat.connector.read({**headers, name: f"{value}1"}, body, now_ms)
    with pytest.raises(SignatureInvalid):
        chat.connector.read({}, body, now_ms)


@pytest.mark.parametrize("card", [CARD, HOSTILE])
def test_a_card_shows_its_texts_literally(chat: Joined, card: Card) -> None:
    message_id = posted(chat, card)

    assert text_of(chat, message_id) == "\n".join([card.title, *card.lines])


def test_a_card_of_any_length_is_accepted(chat: Joined) -> None:
    lines = tuple(f"{n} 好<&>😀" * 8 for n in range(2_000))

    message_id = posted(chat, dataclasses.replace(CARD, lines=lines))

    assert text_of(chat, message_id).startswith(f"Ann's packet\n{lines[0]}\n{lines[1]}")


def test_a_tap_names_the_packet_and_only_the_tapper_sees_the_answer(chat: Joined) -> None:
    chat.reply = "你抢到 8.88"
    message_id = posted(chat)

    chat.tap(ANN, message_id)

    tap = chat.call()
    assert isinstance(tap, Tap)
    assert (tap.packet_id, tap.chat_id, tap.message_id) == (
        *(PACKET_ID, chat.group.chat_id),
        message_id,
    )
    assert chat.wait_for_toast(ANN) == "你抢到 8.88"
    assert chat.toasts(BOB) == []


def test_a_forged_tap_names_the_chat_of_its_message(chat: Joined) -> None:
    message_id = posted(chat)

    chat.tap(ANN, message_id, data="a-packet-of-another-chat")

    tap = chat.call()
    assert (tap.packet_id, tap.chat_id) == ("a-packet-of-another-chat", chat.group.chat_id)


def test_an_edit_replaces_the_card_and_its_repeat_succeeds(chat: Joined) -> None:
    message_id = posted(chat)
    over = Card(PACKET_ID, "All opened", ("Ann 8.88",), None, None, None)

    for _ in range(2):
        chat.connector.edit(chat.group.chat_id, message_id, over)

    shown = chat.group.find(message_id)
    assert shown
    assert text_of(chat, message_id) == "All opened\nAnn 8.88"
    assert len(chat.group.messages) == 1


def test_a_rate_limited_call_reports_its_delay(chat: Joined) -> None:
    chat.platform.rates.now_s = lambda: 1_000.0

    def flood() -> None:
        for number in range(100):
            chat.connector.post(chat.group.chat_id, CARD, f"key-{number}")

    with pytest.raises(ChatBusy) as refused:
        flood()

    assert refused.value.retry_after_s >= 1


def test_a_chat_without_the_bot_is_gone(chat: Joined) -> None:
    with pytest.raises(ChatGone):
        chat.connector.post("-100999", CARD, "key-1")


def test_a_notification_reaches_only_its_member(chat: Joined) -> None:
    chat.write(ANN, "/start", place="private")
    member = chat.call().member

    chat.connector.notify(member, chat.group.chat_id, "Your balance is 8.88")

    assert chat.platform.chats[ANN.key].messages[-1].runs[0][0] == "Your balance is 8.88"
    assert chat.group.messages == []


def test_a_member_without_a_private_chat_is_not_an_error_and_the_group_sees_nothing(
    chat: Joined,
) -> None:
    chat.write(ANN, mention(chat, "/balance"))
    member = chat.call().member

    chat.connector.notify(member, chat.group.chat_id, "Your balance is 8.88")

    assert "8.88" not in str(chat.group.messages)


def test_a_failed_delivery_of_a_message_is_repeated_with_the_same_id(chat: Joined) -> None:
    chat.status = 500

    chat.write(ANN, mention(chat, SENT))

    first, second = chat.call(), chat.call()
    chat.status = 200
    assert first.message_id == second.message_id


def test_a_form_sends_once_for_each_member_and_only_the_sender_sees_the_answer(
    chat: Joined,
) -> None:
    chat.write(ANN, mention(chat, "/hongbao"))
    member, chat_id = chat.call().member, chat.group.chat_id
    if not chat.connector.offer_form(member, chat_id):
        assert [shown.author for shown in chat.group.messages] == [ANN.key]
        return

    form = chat.group.messages[-1]
    chat.reply = "Sent"
    values = {"amount": "8.88", "count": "5", "greeting": "恭喜"}
    keys = []
    for person in (ANN, ANN, BOB):
        chat.tap(person, form.message_id, form=values)
        call = chat.call()
        keys.append(call.message_id)

    assert call.text == "/hongbao 8.88 5 恭喜"
    assert keys[0] == keys[1] != keys[2]
    assert chat.wait_for_toast(ANN) == "Sent"
