"""Connector for Telegram's Bot API: webhook updates, HTML messages, and inline buttons."""

from __future__ import annotations

import hmac
import json
import re
from collections.abc import Mapping
from contextlib import suppress
from html import escape
from typing import Any

from redpacket.chat.connectors.parsing import fitting, json_object, link_label, member, part, text
from redpacket.chat.errors import ChatBusy, ChatGone
from redpacket.chat.model import Call, Card, ChatMoved, Member, Message, Tap
from redpacket.chat.ports import ConnectorEnvironment
from redpacket.payments.errors import SignatureInvalid
from redpacket.platform.errors import RedPacketError, Unavailable

_API = "https://api.telegram.org"
_BAD_REQUEST, _FORBIDDEN, _TOO_MANY = 400, 403, 429
_ANSWER_MAX = 200
_MESSAGE_MAX = 4_096
_ASK_MS, _CHATS_MAX = 10_000, 10_000
"""Minimum ms between two hints in a group to open a private chat; maximum groups remembered."""

_DONE = ("message is not modified", "message to edit not found", "message can't be edited")
"""Edit errors that require no action."""

_OTHER_AUTHORS = ("sender_chat", "forward_origin", "via_bot", "sender_business_bot")
"""Fields that mark messages not written by the sender: anonymous, forwarded, or from a bot."""

_ADDRESSED = re.compile(r"(/\w+)@(\w+)(.*)", re.DOTALL)
"""Command with a bot's name, which Telegram's menus add in groups."""

_PRIVATE_FIRST = {
    "zh": "请先打开与我的私聊，我才能单独回复你。",
    "en": "Open a private chat with me first, so that I can answer you alone.",
}


class Telegram:
    """Telegram implementation of Connector."""

    def __init__(self, environment: ConnectorEnvironment) -> None:
        secret = environment.secret
        self._http, self._now_ms = environment.http, environment.now_ms
        self._asked_at_ms: dict[str, int] = {}
        self._name = secret["telegram_name"]
        self._url = f"{secret.get('telegram_url') or _API}/bot{secret['telegram_token']}"
        # The old secret stays valid during a rotation.
        before = secret.get("telegram_secret_before")
        self._secrets = [each.encode() for each in (secret["telegram_secret"], before) if each]

    def read(self, headers: Mapping[str, str], body: bytes, now_ms: int) -> Call:  # noqa: ARG002
        given = headers.get("x-telegram-bot-api-secret-token", "").encode()
        if not any(hmac.compare_digest(given, secret) for secret in self._secrets):
            raise SignatureInvalid("the update has another secret token")
        update = json_object(body)
        if tap := part(update, "callback_query"):
            return _tap(tap)
        return self._message(part(update, "message"))

    def answer(self, call: Tap | Message, text: str, *, is_alert: bool) -> Mapping[str, Any]:
        if isinstance(call, Message):
            # In a group, leave the text to `notify`, which handles members without a private chat.
            is_sure = call.is_private and text
            return {"method": "sendMessage", **_words(call.member, text)} if is_sure else {}
        # Answer even without a text: otherwise the button keeps spinning.
        body = {"text": _cut(text, _ANSWER_MAX), "show_alert": is_alert} if text else {}
        return {"method": "answerCallbackQuery", "callback_query_id": call.reply_to, **body}

    def post(self, chat_id: str, card: Card, key: str) -> str:  # noqa: ARG002 - Telegram has no such key
        return text(self._call("sendMessage", {"chat_id": chat_id, **_shown(card)}), "message_id")

    def edit(self, chat_id: str, message_id: str, card: Card) -> None:
        message = {"chat_id": chat_id, "message_id": int(message_id)}
        self._call("editMessageText", {**message, **_shown(card)})

    def offer_form(self, member: Member, chat_id: str) -> bool:  # noqa: ARG002
        return False

    def notify(self, member: Member, chat_id: str, text: str) -> None:
        try:
            self._call("sendMessage", _words(member, text))
        except ChatGone:
            # Telegram delivers private messages only after the member has opened the private chat.
            with suppress(RedPacketError):
                self._ask_for_private_chat(member, chat_id)
        except RedPacketError:
            pass

    def _ask_for_private_chat(self, member: Member, chat_id: str) -> None:
        """Ask in the group, but rarely, because cards need the few messages allowed per minute."""
        now_ms = self._now_ms()
        if now_ms < self._asked_at_ms.get(chat_id, 0) + _ASK_MS:
            return
        if len(self._asked_at_ms) >= _CHATS_MAX:
            self._asked_at_ms.clear()
        self._asked_at_ms[chat_id] = now_ms
        link = {"text": f"@{self._name}", "url": f"https://t.me/{self._name}?start=chat"}
        hint = {
            "chat_id": chat_id,
            "text": _PRIVATE_FIRST[member.language],
            "reply_markup": {"inline_keyboard": [[link]]},
        }
        self._call("sendMessage", hint)

    def _message(self, message: Mapping[str, Any]) -> Call:
        chat = part(message, "chat")
        chat_id, new_chat_id = text(chat, "id"), text(message, "migrate_to_chat_id")
        if new_chat_id:
            return ChatMoved(chat_id, new_chat_id)
        sender, words = part(message, "from"), self._command(text(message, "text"))
        is_own = sender and not any(name in message for name in _OTHER_AUTHORS)
        if not is_own or sender.get("is_bot") or words is None:
            return None
        answered = part(message, "reply_to_message")
        return Message(
            _member(message),
            chat_id,
            text(message, "message_id"),
            words,
            text(answered, "message_id") or None,
            is_private=chat.get("type") == "private",
            title=text(chat, "title"),
        )

    def _command(self, words: str) -> str | None:
        """Return *words* without our bot's name, or None if the command is for another bot."""
        addressed = _ADDRESSED.fullmatch(words)
        if not addressed:
            return words or None
        command, name, rest = addressed.groups()
        return f"{command}{rest}" if name.casefold() == self._name.casefold() else None

    def _call(self, method: str, body: Mapping[str, Any]) -> Mapping[str, Any]:
        answer = self._http(f"{self._url}/{method}").post(
            json.dumps(body, ensure_ascii=False).encode(), {"Content-Type": "application/json"}
        )
        try:
            told = json_object(answer.body)
        except RedPacketError:
            raise Unavailable(f"Telegram answered {answer.status} without JSON") from None
        if told.get("ok") is True:
            return part(told, "result")
        parameters, why = part(told, "parameters"), text(told, "description")
        if answer.status == _TOO_MANY:
            raise ChatBusy(retry_after_s=int(text(parameters, "retry_after") or 1))
        if answer.status == _BAD_REQUEST and any(done in why for done in _DONE):
            return {}
        moved_to = text(parameters, "migrate_to_chat_id")
        if moved_to and moved_to != body["chat_id"]:
            # Telegram refused the call, so a second call can't duplicate a message.
            return self._call(method, {**body, "chat_id": moved_to})
        if answer.status in (_BAD_REQUEST, _FORBIDDEN):
            # A retry would also fail, and would delay the chat's later messages for a day.
            raise ChatGone(f"Telegram refused {method}: {why}")
        raise Unavailable(f"Telegram answered {answer.status} to {method}")


def _tap(tap: Mapping[str, Any]) -> Tap:
    message = part(tap, "message")
    return Tap(
        _member(tap),
        text(part(message, "chat"), "id"),
        text(message, "message_id"),
        text(tap, "data"),
        text(tap, "id"),
    )


def _member(given: Mapping[str, Any]) -> Member:
    user = part(given, "from")
    names = (text(user, "first_name"), text(user, "last_name"))
    return member(
        f"telegram:{text(user, 'id')}", " ".join(filter(None, names)), text(user, "language_code")
    )


def _words(member: Member, text: str) -> dict[str, Any]:
    """Return a message to the member's private chat, whose id is the member's id."""
    chat_id = member.host_id.partition(":")[2]
    return {"chat_id": chat_id, "text": _cut(text, _MESSAGE_MAX)}


def _shown(card: Card) -> dict[str, Any]:
    lines = fitting(card.lines, _MESSAGE_MAX - _length(card.title) - 1, _length)
    button = {"text": card.button, "callback_data": card.packet_id} if card.button else None
    link = {"text": link_label(card.link), "url": card.link} if card.link else None
    # Show the cover as a link preview above the text, which edits of the text can keep.
    preview = (
        {"url": card.cover_url, "prefer_large_media": True, "show_above_text": True}
        if card.cover_url
        else {"is_disabled": True}
    )
    return {
        "text": "\n".join(
            [
                f"<b>{escape(card.title, quote=False)}</b>",
                *(escape(line, quote=False) for line in lines),
            ]
        ),
        "parse_mode": "HTML",
        "link_preview_options": preview,
        "reply_markup": {"inline_keyboard": [[each] for each in (button, link) if each]},
    }


def _length(text: str) -> int:
    """Return the length in UTF-16 code units, which is never below the count of characters."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def _cut(text: str, length_max: int) -> str:
    while _length(text) > length_max:
        text = text[:length_max][:-1]
    return text
