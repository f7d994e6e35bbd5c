"""Simulated Telegram: webhook updates and the part of the Bot API that our bot calls."""

import asyncio
import json
import math
import re
import time
from collections.abc import Mapping, Sequence
from html.parser import HTMLParser
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from local.chat.room import BOT, GROUP, PEOPLE, Chat, Person, Platform, Run, Shown

TAP_LIFE_S, MESSAGE_LIFE_S, READ_S = 150.0, 86_400.0, 60.0
QUERY_LIFE_S = 20.0
WAITS_S = (0, 2, 4, 8, 16, 32, 60)
TEXT_MAX, ANSWER_MAX, DATA_BYTES_MAX = 4_096, 200, 64
GROUP_PER_MINUTE = 20
TAGS = frozenset({"b", "strong", "i", "em", "u", "s", "code", "pre"})


class Refusal(Exception):
    """Error for a refused bot call."""

    def __init__(self, status: int, why: str, **parameters: object) -> None:
        super().__init__(why)
        self.status, self.why, self.parameters = status, why, parameters


class _Html(HTMLParser):
    """Parser of Telegram's HTML; it refuses unknown tags, attributes, and an unescaped `<`."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.runs: list[Run] = []
        self._open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:  # noqa: ARG002
        if tag not in TAGS:
            raise Refusal(400, f'Bad Request: can\'t parse entities: unsupported start tag "{tag}"')
        self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if not self._open or self._open.pop() != tag:
            raise Refusal(400, "Bad Request: can't parse entities: unexpected end tag")

    def handle_data(self, data: str) -> None:
        self.runs.append((data, bool(self._open)))

    def parsed(self, text: str) -> list[Run]:
        """Return the runs of *text*."""
        if re.search(r"<(?!/?[a-z]+>)", text):
            raise Refusal(400, "Bad Request: can't parse entities: unsupported start tag")
        self.feed(text)
        self.close()
        if self._open:
            raise Refusal(400, "Bad Request: can't parse entities: can't find end tag")
        return self.runs


class TelegramSimulator(Platform):
    """Bot API for one bot and one group."""

    name = "telegram"
    group_id = "-1001234567890"

    @staticmethod
    def host_id(person: Person) -> str:
        """Return the user id that the bot derives for this member."""
        return f"telegram:{_id(person)}"

    def __init__(
        self, secret: Mapping[str, str], callback_url: str, people: Sequence[Person] = PEOPLE
    ) -> None:
        super().__init__(secret, callback_url, people)
        self.bot_name = secret["telegram_name"]
        self.chats[GROUP] = Chat(self.group_id, "Friends 朋友群")
        self._queries: dict[str, tuple[str, float]] = {}
        self._updates = 1_000

    def private_chat(self, person: Person) -> Chat:
        """Return the private chat of *person*; the bot can write only after *person* opens it."""
        return Chat(str(_id(person)), person.name, person.key, is_open=False)

    def routes(self) -> list[Route]:
        """Return the routes that the bot calls."""
        return [Route("/telegram/bot{token}/{method}", self._call, methods=["POST"])]

    def write(self, person: Person, chat: Chat, text: str, answers: str | None) -> None:
        """Show a member's message, and deliver it if the platform would."""
        chat.is_open = True
        shown = Shown(str(self.number()), person.key, [(text, False)], answers=answers)
        chat.messages.append(shown)
        answered = chat.find(answers) if answers else None
        is_for_bot = text.startswith("/") or (answered and answered.author == BOT)
        if chat.owner is None and not is_for_bot:
            return  # By default, privacy mode hides a group's other messages from bots.
        message: dict[str, Any] = {**self._message(chat, shown), "from": _user(person)}
        if answered:
            message["reply_to_message"] = self._message(chat, answered)
        self.in_turn(f"chat {chat.chat_id}", self._deliver({"message": message}, MESSAGE_LIFE_S))

    def tap(self, person: Person, chat: Chat, shown: Shown, data: str | dict[str, str]) -> None:
        """Deliver a tap."""
        query_id = f"{time.time_ns()}{self.number()}"
        self._queries[query_id] = person.key, time.monotonic()
        query = {
            "id": query_id,
            "from": _user(person),
            "message": self._message(chat, shown),
            "chat_instance": "1",
            "data": data,
        }
        delivery = self._deliver({"callback_query": query}, TAP_LIFE_S)
        self.in_turn(f"user {person.key}", delivery)

    def _message(self, chat: Chat, shown: Shown) -> dict[str, Any]:
        kind = {"type": "private"} if chat.owner else {"type": "supergroup", "title": chat.title}
        return {
            "message_id": int(shown.message_id),
            "date": int(time.time()),
            "chat": {"id": int(chat.chat_id), **kind},
            "text": "".join(text for text, _ in shown.runs),
        }

    async def _deliver(self, update: dict[str, Any], life_s: float) -> None:
        self._updates += 1
        body = json.dumps({"update_id": self._updates, **update}, ensure_ascii=False).encode()
        headers = {"X-Telegram-Bot-Api-Secret-Token": self.secret["telegram_secret"]}
        ends_at_s = time.monotonic() + life_s
        for attempt in range(1_000):
            answer = await self.post(body, headers, READ_S)
            if answer is not None and answer.is_success:
                self._execute(answer.content)
                return
            wait_s = float(WAITS_S[min(attempt, len(WAITS_S) - 1)])
            if answer is not None and answer.headers.get("retry-after", "").isdecimal():
                wait_s = min(float(answer.headers["retry-after"]), 3_600.0)
            if time.monotonic() + wait_s > ends_at_s:
                return
            await asyncio.sleep(wait_s * self.retry_scale)

    def _execute(self, content: bytes) -> None:
        """Execute the method in the webhook's response; the bot does not get the result."""
        try:
            body = json.loads(content or b"{}")
            if isinstance(body, dict) and "method" in body:
                self._do(body.pop("method"), body)
        except (Refusal, ValueError, KeyError, TypeError) as error:
            self.refused.append(str(error))

    async def _call(self, request: Request) -> JSONResponse:
        try:
            self._check_token(request.path_params["token"])
            result = self._do(request.path_params["method"], json.loads(await request.body()))
        except Refusal as refusal:
            self.refused.append(refusal.why)
            told = {"ok": False, "error_code": refusal.status, "description": refusal.why}
            more = {"parameters": refusal.parameters} if refusal.parameters else {}
            return JSONResponse(told | more, refusal.status)
        return JSONResponse({"ok": True, "result": result})

    def _check_token(self, token: str) -> None:
        if token != self.secret["telegram_token"]:
            raise Refusal(401, "Unauthorized")

    def _do(self, method: str, body: dict[str, Any]) -> Any:  # noqa: ANN401 - of JSON
        match method:
            case "sendMessage":
                return self._send(body)
            case "editMessageText":
                return self._edit(body)
            case "answerCallbackQuery":
                return self._answer(body)
        raise Refusal(404, "Not Found")

    def _send(self, body: dict[str, Any]) -> dict[str, Any]:
        chat, runs, buttons = self._checked(body)
        shown = Shown(str(self.number()), BOT, runs, buttons, cover=_cover(body))
        shown.content = _content(body)
        chat.messages.append(shown)
        return self._message(chat, shown)

    def _edit(self, body: dict[str, Any]) -> dict[str, Any]:
        chat, runs, buttons = self._checked(body)
        shown = chat.find(str(body["message_id"]))
        if shown is None or shown.author != BOT:
            raise Refusal(400, "Bad Request: message to edit not found")
        if shown.content == _content(body):
            raise Refusal(
                400,
                "Bad Request: message is not modified: specified new message "
                "content and reply markup are exactly the same",
            )
        shown.runs, shown.buttons, shown.cover = runs, buttons, _cover(body)
        shown.content = _content(body)
        shown.edits += 1
        return self._message(chat, shown)

    def _answer(self, body: dict[str, Any]) -> bool:
        person_key, asked_at_s = self._queries.pop(str(body["callback_query_id"]), ("", 0.0))
        if not person_key or time.monotonic() - asked_at_s > QUERY_LIFE_S:
            raise Refusal(
                400,
                "Bad Request: query is too old and response timeout expired or query ID is invalid",
            )
        text = body.get("text", "")
        if _length(text) > ANSWER_MAX:
            raise Refusal(400, "Bad Request: MESSAGE_TOO_LONG")
        if text:
            self.toast(person_key, text, is_alert=body.get("show_alert", False))
        return True

    def _checked(self, body: dict[str, Any]) -> tuple[Chat, list[Run], list[dict[str, str]]]:
        chat = self.by_id(str(body["chat_id"]))
        if chat is None:
            raise Refusal(400, "Bad Request: chat not found")
        if not chat.is_open:
            raise Refusal(403, "Forbidden: bot can't initiate conversation with a user")
        text = body["text"]
        runs = _Html().parsed(text) if body.get("parse_mode") == "HTML" else [(text, False)]
        length = _length("".join(run for run, _ in runs))
        if not length:
            raise Refusal(400, "Bad Request: message text is empty")
        if length > TEXT_MAX:
            raise Refusal(400, "Bad Request: message is too long")
        buttons = _buttons(body)
        limits = [("all", 30, 1.0), (chat.chat_id, 1, 1.0)]
        limits += [] if chat.owner else [(chat.chat_id, GROUP_PER_MINUTE, 60.0)]
        if wait_s := math.ceil(self.rates.wait_s(*limits)):
            why = f"Too Many Requests: retry after {wait_s}"
            raise Refusal(429, why, retry_after=wait_s)
        return chat, runs, buttons


def _id(person: Person) -> int:
    return 700_000_000 + person.number


def _user(person: Person) -> dict[str, Any]:
    language = "en" if person.name.isascii() else "zh-hans"
    names = {"first_name": person.name, "language_code": language}
    return {"id": _id(person), "is_bot": False, **names}


def _length(text: str) -> int:
    return len(text.encode("utf-16-le")) // 2


def _content(body: dict[str, Any]) -> object:
    return [body["text"], body.get("reply_markup"), body.get("link_preview_options")]


def _cover(body: dict[str, Any]) -> str | None:
    url = body.get("link_preview_options", {}).get("url")
    return str(url) if url else None


def _buttons(body: dict[str, Any]) -> list[dict[str, str]]:
    buttons = []
    for row in body.get("reply_markup", {}).get("inline_keyboard", []):
        for button in row:
            if not button.get("text") or ("url" in button) == ("callback_data" in button):
                raise Refusal(400, "Bad Request: inline keyboard button has no text or two kinds")
            if "url" in button and not button["url"].startswith(("https://", "http://", "tg://")):
                raise Refusal(400, "Bad Request: BUTTON_URL_INVALID")
            if not 1 <= len(button.get("callback_data", "-").encode()) <= DATA_BYTES_MAX:
                raise Refusal(400, "Bad Request: BUTTON_DATA_INVALID")
            buttons.append(dict(button))
    return buttons
