"""Telegram's updates, and the Telegram connector's calls."""

import json
from dataclasses import replace
from typing import Any

import pytest

from redpacket.chat.connector_name import ConnectorName
from redpacket.chat.connectors.telegram.connector import Telegram
from redpacket.chat.errors import ChatBusy, ChatGone
from redpacket.chat.model import Card, ChatMoved, Member, Message, Tap
from redpacket.payments.errors import SignatureInvalid
from redpacket.platform.errors import InvalidRequest, Unavailable
from tests.unit.chat.connecting import ANN, CARD, LARK, NOW_MS, TELEGRAM, Platform

HEADER = "x-telegram-bot-api-secret-token"
SIGNED = {HEADER: TELEGRAM["telegram_secret"]}
FROM = {
    "id": 7,
    "is_bot": False,
    "first_name": "Ann",
    "last_name": "Lee",
    "language_code": "zh-hans",
}
GROUP = {"id": -100, "type": "supergroup", "title": "Friends"}
SENT = (200, {"ok": True, "result": {"message_id": 5}})


def telegram(*answers: Any, **secret: str) -> tuple[Telegram, Platform]:
    platform = Platform(list(answers))
    return Telegram(platform.environment({**TELEGRAM, **secret})), platform


def read(update: Any, headers: dict[str, str] = SIGNED, **secret: str) -> Any:
    return telegram(**secret)[0].read(headers, json.dumps(update).encode(), NOW_MS)


def said(text: str, **more: Any) -> Any:
    return read({"message": {"message_id": 3, "from": FROM, "chat": GROUP, "text": text, **more}})


@pytest.mark.parametrize("headers", [{}, {HEADER: ""}, {HEADER: "s3cre"}, {HEADER: "s3crét"}])
def test_an_update_with_another_secret_token_is_refused(headers: dict[str, str]) -> None:
    with pytest.raises(SignatureInvalid):
        read({"update_id": 1}, headers)


def test_the_old_secret_token_is_valid_during_a_rotation() -> None:
    old = {HEADER: "old"}

    assert read({"update_id": 1}, old, telegram_secret_before="old") is None
    assert read({"update_id": 1}, SIGNED, telegram_secret_before="old") is None


@pytest.mark.parametrize("name", TELEGRAM)
@pytest.mark.parametrize("value", ["", " "])
def test_a_blank_value_of_the_secret_connects_no_platform(name: str, value: str) -> None:
    environment = Platform().environment({**TELEGRAM, **LARK, name: value})

    assert ConnectorName.TELEGRAM.connect(environment) is None
    assert ConnectorName.LARK.connect(environment)


@pytest.mark.parametrize("body", [b"", b"[]", b"{", b"[" * 100_000])
def test_a_body_that_is_not_an_object_is_invalid(body: bytes) -> None:
    with pytest.raises(InvalidRequest):
        telegram()[0].read(SIGNED, body, NOW_MS)


def test_a_tap_has_its_member_chat_card_and_packet() -> None:
    message = {"message_id": 3, "date": 1, "chat": GROUP}

    tap = read({"callback_query": {"id": "99", "from": FROM, "message": message, "data": "p-1"}})

    assert tap == Tap(Member("telegram:7", "Ann Lee", "zh"), "-100", "3", "p-1", "99")


def test_a_tap_without_a_message_names_no_chat() -> None:
    tap = read({"callback_query": {"id": "99", "from": FROM, "data": "p-1"}})

    assert (tap.chat_id, tap.message_id) == ("", "")


def test_a_reply_in_a_group_names_the_original_message() -> None:
    message = said("芝麻开门", reply_to_message={"message_id": 2})

    assert message == Message(
        Member("telegram:7", "Ann Lee", "zh"),
        *("-100", "3", "芝麻开门", "2"),
        is_private=False,
        title="Friends",
    )


@pytest.mark.parametrize("text", ["/hongbao@PacketBot 8 5", "/hongbao@packetbot 8 5"])
def test_a_command_loses_the_name_of_the_bot(text: str) -> None:
    assert said(text).text == "/hongbao 8 5"


@pytest.mark.parametrize(
    "given",
    [
        {"text": "/hongbao@OtherBot 8 5"},
        {"text": "/hongbao 8 5", "sender_chat": GROUP},
        {"text": "/hongbao 8 5", "forward_origin": {"type": "user"}},
        {"text": "/hongbao 8 5", "via_bot": {"id": 8}},
        {"text": "/hongbao 8 5", "sender_business_bot": {"id": 8}},
        {"text": "/hongbao 8 5", "from": {**FROM, "is_bot": True}},
        {"text": "/hongbao 8 5", "from": {}},
        {"text": ""},
    ],
)
def test_messages_from_and_to_other_bots_are_ignored(given: dict[str, Any]) -> None:
    assert said(**given) is None


def test_a_private_chat_is_recognized() -> None:
    assert said("/help", chat={"id": 7, "type": "private"}).is_private


def test_a_group_that_became_a_supergroup_has_a_new_id() -> None:
    moved = read({"message": {"chat": {"id": -5}, "migrate_to_chat_id": -1005}})

    assert moved == ChatMoved("-5", "-1005")


def test_a_card_is_escaped_and_has_a_button_that_names_the_packet() -> None:
    bot, platform = telegram(SENT)

    message_id = bot.post("-100", CARD, "key")

    ((_, url, body, _),) = platform.calls
    assert message_id == "5"
    assert url == "https://api.telegram.org/bot1:abc/sendMessage"
    assert body["text"] == "<b>Ann &amp; &lt;Bob&gt;</b>\n2 of 5\n8.88 &lt; 10"
    assert body["reply_markup"]["inline_keyboard"] == [
        [{"text": "Open", "callback_data": "packet-1"}],
        [{"text": "🔗 p.example", "url": "https://p.example"}],
    ]


def test_a_long_card_is_shortened_by_whole_lines_and_counts_them() -> None:
    bot, platform = telegram(SENT)
    card = Card("p", "Title", tuple(f"{n:03} {'😀' * 40}" for n in range(200)), None, None, None)

    bot.post("-100", card, "key")

    text = platform.calls[0][2]["text"]
    lines = text.split("\n")
    assert len(text.encode("utf-16-le")) // 2 - len("<b></b>") <= 4_096
    assert lines[-1] == f"… +{200 - (len(lines) - 2)}"
    assert lines[-2] == card.lines[len(lines) - 3]


def test_a_cover_is_the_preview_above_the_text() -> None:
    bot, platform = telegram(SENT)
    card = Card("p", "Title", (), None, None, "https://covers.example/a.png")

    bot.post("-100", card, "key")

    preview = platform.calls[0][2]["link_preview_options"]
    assert preview["url"] == card.cover_url
    assert preview["show_above_text"]


@pytest.mark.parametrize(
    "why",
    [
        "Bad Request: message is not modified: specified new message content is the same",
        "Bad Request: message to edit not found",
        "Bad Request: message can't be edited",
    ],
)
def test_an_edit_without_changes_succeeds(why: str) -> None:
    bot, platform = telegram((400, {"ok": False, "description": why}))

    bot.edit("-100", "5", CARD)

    assert platform.calls[0][2]["message_id"] == 5


def test_a_rate_limited_call_reports_its_delay() -> None:
    bot, _ = telegram((429, {"ok": False, "parameters": {"retry_after": 17}}))

    with pytest.raises(ChatBusy) as refused:
        bot.edit("-100", "5", CARD)

    assert refused.value.retry_after_s == 17


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        ((403, {"ok": False, "description": "Forbidden: bot was kicked"}), ChatGone),
        ((400, {"ok": False, "description": "Bad Request: chat not found"}), ChatGone),
        ((400, {"ok": False, "description": "not enough rights to send text"}), ChatGone),
        ((400, {"ok": False, "description": "Bad Request: can't parse entities"}), ChatGone),
        ((401, {"ok": False, "description": "Unauthorized"}), Unavailable),
        ((502, []), Unavailable),
        (None, Unavailable),
    ],
)
def test_other_failures_are_errors(answer: Any, error: type[Exception]) -> None:
    bot, _ = telegram(answer)

    with pytest.raises(error):
        bot.post("-100", CARD, "key")


def test_a_moved_chat_gets_the_card_under_its_new_id() -> None:
    moved = (400, {"ok": False, "parameters": {"migrate_to_chat_id": -1005}})
    bot, platform = telegram(moved, SENT)

    assert bot.post("-5", CARD, "key") == "5"

    assert [body["chat_id"] for _, _, body, _ in platform.calls] == ["-5", "-1005"]


def test_a_tap_is_answered_within_200_characters_or_without_text() -> None:
    bot, _ = telegram()
    tap = Tap(ANN, "-100", "3", "p-1", "99")

    assert len(bot.answer(tap, "好" * 300, is_alert=True)["text"]) <= 200
    assert bot.answer(tap, "", is_alert=False) == {
        "method": "answerCallbackQuery",
        "callback_query_id": "99",
    }


def test_a_message_is_answered_in_the_private_chat_and_not_from_a_group() -> None:
    bot, _ = telegram()
    message = Message(ANN, "7", "3", "/balance", None, is_private=True, title="")

    assert bot.answer(replace(message, is_private=False), "8.88", is_alert=False) == {}
    assert bot.answer(message, "8.88", is_alert=False) == {
        "method": "sendMessage",
        "chat_id": "7",
        "text": "8.88",
    }


def test_a_member_without_a_private_chat_is_asked_to_open_one() -> None:
    bot, platform = telegram((403, {"ok": False, "description": "Forbidden"}), SENT)

    bot.notify(ANN, "-100", "your balance is 8.88")

    (_, _, first, _), (_, _, hint, _) = platform.calls
    assert (first["chat_id"], hint["chat_id"]) == ("7", "-100")
    assert "8.88" not in json.dumps(hint)


def test_a_group_is_asked_for_private_chats_once_in_ten_seconds() -> None:
    now = [NOW_MS]
    platform = Platform([(403, {"ok": False, "description": "Forbidden"})])
    bot = Telegram(platform.environment(TELEGRAM, lambda: now[0]))

    for later_ms, chat_id in ((0, "-100"), (9_999, "-100"), (9_999, "-200"), (10_000, "-100")):
        now[0] = NOW_MS + later_ms
        bot.notify(ANN, chat_id, "your balance is 8.88")

    asked = [body["chat_id"] for _, _, body, _ in platform.calls if body["chat_id"] != "7"]
    assert asked == ["-100", "-200", "-100"]


@pytest.mark.parametrize("answer", [None, (429, {"ok": False}), (403, {"ok": False})])
def test_notifications_never_raise_an_error(answer: Any) -> None:
    telegram(answer)[0].notify(ANN, "-100", "hello")
