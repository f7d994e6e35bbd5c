"""Simulated Lark: encrypted and signed events, and the API of one app."""

import asyncio
import json
import math
import os
import secrets
import time
from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import AES256
from cryptography.hazmat.primitives.ciphers.modes import CBC
from cryptography.hazmat.primitives.padding import PKCS7
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from local.chat.room import BOT, GROUP, PEOPLE, Chat, Person, Platform, Run, Shown

DEADLINE_S = 3.0
OK = 200
WAITS_S = (15.0, 300.0, 3_600.0, 21_600.0)
TOKEN_LIFE_S = 7_200
CARD_BYTES_MAX, ELEMENTS_MAX, UUID_MAX = 30_000, 200, 50
TENANT = "T1"
TOASTS = frozenset({"info", "success", "error", "warning"})
ALLOWED: dict[str, frozenset[str]] = {
    "card": frozenset({"schema", "config", "header", "body"}),
    "header": frozenset({"title", "template", "subtitle"}),
    "div": frozenset({"tag", "text"}),
    "plain_text": frozenset({"tag", "content"}),
    "form": frozenset({"tag", "name", "elements"}),
    "input": frozenset({"tag", "name", "label", "placeholder", "required"}),
    "button": frozenset({"tag", "type", "text", "behaviors", "name", "form_action_type"}),
}
"""Card 2.0 properties that the bot uses, keyed by tag; the simulator rejects all others."""


class Refusal(Exception):
    """Error for a refused bot call."""

    def __init__(self, status: int, code: int, why: str, reset_s: int = 0) -> None:
        super().__init__(why)
        self.status, self.code, self.why, self.reset_s = status, code, why, reset_s


@dataclass
class Content:
    """Message content as members see it."""

    runs: list[Run]
    buttons: list[dict[str, str]] = field(default_factory=list)
    form: list[dict[str, str]] = field(default_factory=list)


def sealed(content: bytes, key: str) -> str:
    """Encrypt an event as Lark does."""
    iv = os.urandom(16)
    padding = PKCS7(AES256.block_size).padder()
    padded = padding.update(content) + padding.finalize()
    sealing = Cipher(AES256(sha256(key.encode()).digest()), CBC(iv)).encryptor()
    return b64encode(iv + sealing.update(padded) + sealing.finalize()).decode()


def signed(call: Mapping[str, Any], key: str, at_s: int) -> tuple[dict[str, str], bytes]:
    """Return the headers and body of a signed, encrypted call."""
    body = json.dumps({"encrypt": sealed(json.dumps(call).encode(), key)}).encode()
    timestamp, nonce = str(at_s), secrets.token_hex(8)
    return {
        "x-lark-request-timestamp": timestamp,
        "x-lark-request-nonce": nonce,
        "x-lark-signature": sha256(f"{timestamp}{nonce}{key}".encode() + body).hexdigest(),
    }, body


class LarkSimulator(Platform):
    """API for one app with one group."""

    name = "lark"
    bot_name = "红包"
    group_id = "oc_group"

    @staticmethod
    def host_id(person: Person) -> str:
        """Return the user id that the bot derives for this member."""
        return f"lark:{TENANT}:{_open_id(person)}"

    def __init__(
        self, secret: Mapping[str, str], callback_url: str, people: Sequence[Person] = PEOPLE
    ) -> None:
        super().__init__(secret, callback_url, people)
        self.chats[GROUP] = Chat(self.group_id, "团队群")
        self._tokens: dict[str, float] = {}
        self._sent: dict[str, str] = {}

    def private_chat(self, person: Person) -> Chat:
        """Return the private chat of *person*, to which the bot may always write."""
        return Chat(f"oc_{person.key}", person.name, person.key)

    def routes(self) -> list[Route]:
        """Return the routes that the bot calls."""
        api = "/lark/open-apis"
        messages = f"{api}/im/v1/messages"
        token = f"{api}/auth/v3/tenant_access_token/internal"
        return [
            Route(token, self._answering(self._token, is_open=True), methods=["POST"]),
            Route(messages, self._answering(self._send), methods=["POST"]),
            Route(f"{messages}/{{id}}", self._answering(self._edit), methods=["PATCH"]),
            Route(f"{api}/contact/v3/users/{{id}}", self._answering(self._user)),
        ]

    def write(self, person: Person, chat: Chat, text: str, answers: str | None) -> None:
        """Show a member's message, and deliver it if the platform would."""
        shown = Shown(f"om_{self.number()}", person.key, [(text, False)], answers=answers)
        chat.messages.append(shown)
        mention = f"@{self.bot_name}"
        if chat.owner is None and mention not in text:
            return  # By default, an app gets only group messages that mention it.
        message: dict[str, Any] = {
            "message_id": shown.message_id,
            "chat_id": chat.chat_id,
            "chat_type": "p2p" if chat.owner else "group",
            "message_type": "text",
            "content": json.dumps({"text": text.replace(mention, "@_user_1")}),
            **({"parent_id": answers, "root_id": answers} if answers else {}),
        }
        sender = {
            "sender_id": {"open_id": _open_id(person)},
            "sender_type": "user",
            "tenant_key": TENANT,
        }
        event = {"sender": sender, "message": message}
        delivery = self._deliver(self._event("im.message.receive_v1", event))
        self.in_turn(f"chat {chat.chat_id} {self.number()}", delivery)

    def tap(self, person: Person, chat: Chat, shown: Shown, data: str | dict[str, str]) -> None:
        """Deliver a tap."""
        action: dict[str, Any] = {"tag": "button"}
        if isinstance(data, dict):
            action |= {"value": {}, "name": shown.form[-1]["name"], "form_value": data}
        else:
            action["value"] = {"packet_id": data}
        event = {
            "operator": {"open_id": _open_id(person), "tenant_key": TENANT},
            "token": f"c-{secrets.token_hex(8)}",
            "action": action,
            "host": "im_message",
            "context": {"open_message_id": shown.message_id, "open_chat_id": chat.chat_id},
        }
        call = self._event("card.action.trigger", event)
        self.in_turn(f"tap {self.number()}", self._ask(person, call))

    def _event(self, event_type: str, event: Mapping[str, Any]) -> dict[str, Any]:
        header = {
            "event_id": secrets.token_hex(16),
            "event_type": event_type,
            "create_time": str(time.time_ns() // 1_000_000),
            "token": self.secret["lark_token"],
            "app_id": self.secret["lark_app_id"],
            "tenant_key": TENANT,
        }
        return {"schema": "2.0", "header": header, "event": event}

    def _signed(self, call: Mapping[str, Any]) -> tuple[dict[str, str], bytes]:
        return signed(call, self.secret["lark_encrypt_key"], int(time.time()))

    async def _deliver(self, call: Mapping[str, Any]) -> None:
        for wait_s in (*WAITS_S, None):
            headers, body = self._signed(call)
            answer = await self.post(body, headers, DEADLINE_S)
            if (answer is not None and answer.status_code == OK) or wait_s is None:
                return
            await asyncio.sleep(wait_s * self.retry_scale)

    async def _ask(self, person: Person, call: Mapping[str, Any]) -> None:
        """Deliver a tap once, and show the bot's answer."""
        headers, body = self._signed(call)
        answer = await self.post(body, headers, DEADLINE_S)
        if answer is None or answer.status_code != OK:
            why = "200671: the callback failed or took more than three seconds"
        else:
            why = self._show_answer(person, answer.content)
        if why:
            self.refused.append(why)
            self.toast(person.key, f"⚠ {why}")

    def _show_answer(self, person: Person, content: bytes) -> str:
        """Show the toast in the bot's answer. Return an error message, or "" for a valid answer."""
        try:
            told = json.loads(content)
            toast = told.get("toast")
            is_known = not set(told) - {"toast", "card"}
            if not is_known or (toast and toast["type"] not in TOASTS):
                return "200672: the answer of the callback has a wrong form"
            if toast:
                self.toast(person.key, str(toast["content"]))
        except (ValueError, AttributeError, KeyError) as error:
            return f"200672: {error!r}"
        return ""

    def _answering(self, do: Any, *, is_open: bool = False) -> Any:  # noqa: ANN401 - of Starlette
        async def answer(request: Request) -> JSONResponse:
            headers: dict[str, str] = {}
            try:
                if not is_open:
                    self._check_token(request)
                body = json.loads(await request.body() or b"{}")
                return JSONResponse({"code": 0, "msg": "success", **do(request, body)})
            except Refusal as refusal:
                self.refused.append(refusal.why)
                if refusal.reset_s:
                    headers["x-ogw-ratelimit-reset"] = str(refusal.reset_s)
                told = {"code": refusal.code, "msg": refusal.why}
                return JSONResponse(told, refusal.status, headers)

        return answer

    def _check_token(self, request: Request) -> None:
        token = request.headers.get("authorization", "").removeprefix("Bearer ")
        if self._tokens.get(token, 0) < time.monotonic():
            raise Refusal(400, 99991663, "Invalid access token for authorization")
        self._limit((f"api {request.method}", 50, 1.0))

    def _limit(self, *limits: tuple[str, int, float]) -> None:
        if wait_s := math.ceil(self.rates.wait_s(*limits)):
            raise Refusal(429, 99991400, "request trigger frequency limit", wait_s)

    def _token(self, _: Request, body: Mapping[str, Any]) -> dict[str, Any]:
        given = body.get("app_id"), body.get("app_secret")
        if given != (self.secret["lark_app_id"], self.secret["lark_app_secret"]):
            raise Refusal(400, 10014, "app secret invalid")
        token = f"t-{secrets.token_hex(16)}"
        self._tokens[token] = time.monotonic() + TOKEN_LIFE_S
        return {"tenant_access_token": token, "expire": TOKEN_LIFE_S}

    def _user(self, request: Request, _: object) -> dict[str, Any]:
        for person in self.people.values():
            if _open_id(person) == request.path_params["id"]:
                user = {"open_id": _open_id(person), "name": person.name}
                return {"data": {"user": user}}
        raise Refusal(400, 99992351, "not a valid open_id")

    def _send(self, request: Request, body: Mapping[str, Any]) -> dict[str, Any]:
        kind, to = request.query_params.get("receive_id_type"), str(body.get("receive_id"))
        chat = self.by_id(to) if kind == "chat_id" else self._private(to)
        if chat is None:
            raise Refusal(400, 230002, "The bot can not be outside the group.")
        uuid = str(body.get("uuid", ""))
        if len(uuid) > UUID_MAX:
            raise Refusal(400, 230001, "invalid uuid")
        if uuid in self._sent:
            return {"data": {"message_id": self._sent[uuid]}}
        made = _shown(str(body.get("msg_type")), str(body.get("content")))
        self._limit((chat.chat_id, 5, 1.0))
        shown = Shown(f"om_{self.number()}", BOT, made.runs, made.buttons, made.form)
        chat.messages.append(shown)
        if uuid:
            self._sent[uuid] = shown.message_id
        return {"data": {"message_id": shown.message_id}}

    def _edit(self, request: Request, body: Mapping[str, Any]) -> dict[str, Any]:
        found = [chat.find(request.path_params["id"]) for chat in self.chats.values()]
        shown = next((each for each in found if each), None)
        if shown is None or shown.author != BOT:
            raise Refusal(400, 230001, "invalid message_id")
        made = _shown("interactive", str(body.get("content")))
        self._limit((shown.message_id, 5, 1.0))
        shown.runs, shown.buttons, shown.form = made.runs, made.buttons, made.form
        shown.edits += 1
        return {"data": {}}

    def _private(self, open_id: str) -> Chat | None:
        people = self.people.values()
        return next((self.chats[each.key] for each in people if _open_id(each) == open_id), None)


def _open_id(person: Person) -> str:
    return f"ou_{person.number:08}"


def _shown(kind: str, content: str) -> Content:
    """Return the runs, buttons and form of a message. Raises Refusal."""
    try:
        told = json.loads(content)
        if kind == "text":
            return Content([(str(told["text"]), False)])
        if kind != "interactive":
            raise Refusal(400, 230001, "invalid msg_type")
        return _card(told, len(content.encode()))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise Refusal(400, 230001, f"invalid content: {error!r}") from error


def _card(card: dict[str, Any], size: int) -> Content:
    elements = card["body"]["elements"]
    if card["schema"] != "2.0" or not card.get("config", {}).get("update_multi"):
        raise Refusal(400, 230099, "Failed to create card content: not a shared card 2.0")
    if size > CARD_BYTES_MAX:
        raise Refusal(400, 230025, "The length of the message content reaches its limit")
    if len(elements) > ELEMENTS_MAX:
        raise Refusal(400, 230099, "ErrCode: 300305; element exceeds the limit")
    _check("card", card)
    _check("header", card["header"])
    made = Content([(card["header"]["title"]["content"], True)])
    for element in elements:
        _check(element["tag"], element)
        if element["tag"] == "form":
            made.form.extend(_input(each) for each in element["elements"])
            continue
        _check(element["text"]["tag"], element["text"])
        words = element["text"]["content"]
        if element["tag"] == "div":
            made.runs.append((f"\n{words}", False))
            continue
        (behavior,) = element["behaviors"]
        is_tap = behavior["type"] == "callback"
        to = {"callback_data": behavior["value"]["packet_id"]} if is_tap else {}
        made.buttons.append({"text": words, **(to or {"url": behavior["default_url"]})})
    return made


def _input(element: dict[str, Any]) -> dict[str, str]:
    _check(element["tag"], element)
    label = element["text"] if element["tag"] == "button" else element["label"]
    return {"name": element["name"], "label": label["content"]}


def _check(tag: str, given: Mapping[str, Any]) -> None:
    if tag not in ALLOWED:
        raise Refusal(400, 230099, f"ErrCode: 200621; unknown tag {tag}")
    if unknown := set(given) - ALLOWED[tag]:
        raise Refusal(400, 230099, f"ErrCode: 200621; unknown property {sorted(unknown)}")
