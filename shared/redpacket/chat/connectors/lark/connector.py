"""Connector for Lark and Feishu: encrypted events, cards 2.0, and toasts in response to taps."""

from __future__ import annotations

import hmac
import re
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from redpacket.chat.connectors.lark.api import LarkApi
from redpacket.chat.connectors.lark.crypto import decrypted, is_signed
from redpacket.chat.connectors.parsing import fitting, json_object, link_label, member, part, text
from redpacket.chat.model import Call, Card, Challenge, Member, Message, Tap
from redpacket.chat.ports import ConnectorEnvironment
from redpacket.payments.errors import SignatureInvalid
from redpacket.payments.model.provider import is_fresh
from redpacket.platform.errors import RedPacketError

_CARD_BYTES_MAX = 20_000
"""Maximum bytes for a card's lines; Lark accepts 30 KB for the whole card."""

_KEY_MAX = 50
_SUBMIT = "send"
_FIELDS = ("amount", "count", "greeting")
_ONE_WORD = re.compile(r"[^\s+]+")
_FORM_WORDS = {
    "zh": ("发红包", "总金额", "个数", "祝福语", "塞钱进红包"),
    "en": ("Send a red packet", "Total amount", "Shares", "Greeting", "Send"),
}
"""Title, field labels, and button label of the form."""


class Lark:
    """Lark implementation of Connector."""

    def __init__(self, environment: ConnectorEnvironment) -> None:
        secret = environment.secret
        self._key, self._token = secret["lark_encrypt_key"], secret["lark_token"]
        self._app_id = secret["lark_app_id"]
        self._api = LarkApi(environment)

    def read(self, headers: Mapping[str, str], body: bytes, now_ms: int) -> Call:
        is_genuine = self._is_genuine(headers, body, now_ms)
        try:
            call = json_object(decrypted(text(json_object(body), "encrypt"), self._key))
        except (ValueError, RedPacketError):
            raise SignatureInvalid("the call is not encrypted with our key") from None
        # Lark does not sign the call that checks our address.
        if call.get("type") == "url_verification" and self._is_ours(text(call, "token")):
            return Challenge({"challenge": text(call, "challenge")})
        header, event = part(call, "header"), part(call, "event")
        is_ours = self._is_ours(text(header, "token")) and text(header, "app_id") == self._app_id
        if not is_genuine or not is_ours:
            raise SignatureInvalid("the call has another signature, token or app")
        match text(header, "event_type"):
            case "card.action.trigger":
                return self._tap(header, event)
            case "im.message.receive_v1":
                return self._message(header, event)
            case _:
                return None

    def answer(self, call: Tap | Message, text: str, *, is_alert: bool) -> Mapping[str, Any]:  # noqa: ARG002 - a toast has one form
        is_tap = isinstance(call, Tap) or call.is_form
        return {"toast": {"type": "info", "content": text}} if text and is_tap else {}

    def post(self, chat_id: str, card: Card, key: str) -> str:
        return self._api.send("chat_id", chat_id, "interactive", _shown(card), key[:_KEY_MAX])

    def edit(self, chat_id: str, message_id: str, card: Card) -> None:  # noqa: ARG002 - message ids are unique
        self._api.edit(message_id, _shown(card))

    def offer_form(self, member: Member, chat_id: str) -> bool:
        card = _form(_FORM_WORDS[member.language])
        self._api.send("chat_id", chat_id, "interactive", card, "")
        return True

    def notify(self, member: Member, chat_id: str, text: str) -> None:  # noqa: ARG002 - the app may always write to its users
        with suppress(RedPacketError):
            open_id = member.host_id.rpartition(":")[2]
            self._api.send("open_id", open_id, "text", {"text": text}, "")

    def _is_genuine(self, headers: Mapping[str, str], body: bytes, now_ms: int) -> bool:
        timestamp = headers.get("x-lark-request-timestamp", "")
        nonce = headers.get("x-lark-request-nonce", "")
        signature = headers.get("x-lark-signature", "")
        return is_fresh(timestamp, now_ms) and is_signed(
            signature, timestamp, nonce, self._key, body
        )

    def _is_ours(self, token: str) -> bool:
        return hmac.compare_digest(token.encode(), self._token.encode())

    def _tap(self, header: Mapping[str, Any], event: Mapping[str, Any]) -> Call:
        action, context = part(event, "action"), part(event, "context")
        operator = part(event, "operator")
        tapper = self._member(header, text(operator, "open_id"), operator)
        chat_id, message_id = text(context, "open_chat_id"), text(context, "open_message_id")
        if "form_value" in action or text(action, "name") == _SUBMIT:
            # Each member can send one packet per form, so a second tap on the button has no effect.
            return Message(
                *(tapper, chat_id, f"form:{message_id}:{tapper.host_id}"),
                *(_command(part(action, "form_value")), None),
                is_private=False,
                title="",
                is_form=True,
            )
        packet_id = text(part(action, "value"), "packet_id")
        return Tap(tapper, chat_id, message_id, packet_id, "")

    def _message(self, header: Mapping[str, Any], event: Mapping[str, Any]) -> Call:
        sender, message = part(event, "sender"), part(event, "message")
        is_words = (sender.get("sender_type"), message.get("message_type")) == ("user", "text")
        if not is_words:
            return None
        words = text(json_object(text(message, "content")), "text")
        # In a group message that mentions the bot, a placeholder stands for the bot's name.
        words = re.sub(r"\A\s*(@_user_\d+\s*)+", "", words)
        return Message(
            self._member(header, text(part(sender, "sender_id"), "open_id"), sender),
            text(message, "chat_id"),
            text(message, "message_id"),
            words,
            text(message, "parent_id") or None,
            is_private=message.get("chat_type") == "p2p",
            title="",
        )

    def _member(self, header: Mapping[str, Any], open_id: str, given: Mapping[str, Any]) -> Member:
        tenant = text(given, "tenant_key") or text(header, "tenant_key")
        # The tenant's language is unknown: assume Chinese for Feishu and English for Lark.
        language = "zh" if self._api.is_feishu else "en"
        person = member(f"lark:{tenant}:{open_id}", "", language)
        return Member(person.host_id, self._api.name_of(open_id), person.language)


def _command(form: Mapping[str, Any]) -> str:
    """Return the command that corresponds to a form's values."""
    *numbers, greeting = (text(form, name).strip() for name in _FIELDS)
    # A field that is empty, or has several words or an option, must not shift other fields.
    fields = [each if _ONE_WORD.fullmatch(each) else "?" for each in numbers]
    return " ".join(["/hongbao", *fields, greeting])


def _form(words: tuple[str, ...]) -> dict[str, Any]:
    title, *labels, button = words
    inputs = [
        {"tag": "input", "name": name, "label": {"tag": "plain_text", "content": label}}
        for name, label in zip(_FIELDS, labels, strict=True)
    ]
    submit = _button(button, "primary", {"type": "callback", "value": {}})
    submit |= {"name": _SUBMIT, "form_action_type": "submit"}
    return _card(title, {"tag": "form", "name": "hongbao", "elements": [*inputs, submit]})


def _shown(card: Card) -> dict[str, Any]:
    lines = fitting(card.lines, _CARD_BYTES_MAX, lambda line: len(line.encode()))
    tap = {"type": "callback", "value": {"packet_id": card.packet_id}}
    buttons = [_button(card.button, "primary", tap)] if card.button else []
    if card.link:
        buttons.append(
            _button(
                link_label(card.link), "default", {"type": "open_url", "default_url": card.link}
            )
        )
    # Plain text needs no escaping.
    words = {"tag": "div", "text": {"tag": "plain_text", "content": "\n".join(lines) or " "}}
    return _card(card.title, words, *buttons)


def _card(title: str, *elements: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "schema": "2.0",
        "config": {"update_multi": True},
        "header": {"title": {"tag": "plain_text", "content": title}, "template": "red"},
        "body": {"elements": elements},
    }


def _button(label: str, kind: str, behavior: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "tag": "button",
        "type": kind,
        "text": {"tag": "plain_text", "content": label},
        "behaviors": [behavior],
    }
