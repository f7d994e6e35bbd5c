"""Chat connectors with simulated platforms in this process, and a test-only platform."""

import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import httpx
import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from local.chat.room import BOT, GROUP, PEOPLE, Chat, Person, Platform, Shown
from local.chat.secret import make_secret
from local.chat.server import application, both
from local.ports import HOST, Ports
from redpacket.chat.connector_name import ConnectorName
from redpacket.chat.errors import ChatBusy, ChatGone
from redpacket.chat.model import Call, Card, Member, Message, Tap
from redpacket.chat.ports import Connector, ConnectorEnvironment
from redpacket.payments.errors import SignatureInvalid
from redpacket.platform.errors import InvalidRequest, RedPacketError
from redpacket.platform.ssrf_safe_http import HttpClient

WAIT_S = 30.0
_OK, _GONE, _BUSY = 200, 404, 429
_BUSY_S = 2
_DEADLINE_S = 5.0
_DELIVERIES = 100


class Pigeon:
    """Connector for the test-only platform, which `registry_line` adds to the registry."""

    def __init__(self, environment: ConnectorEnvironment) -> None:
        self._word, self._http = environment.secret["pigeon_word"], environment.http
        self._url = environment.secret["pigeon_url"]

    def read(self, headers: Mapping[str, str], body: bytes, now_ms: int) -> Call:
        """Read one call."""
        if headers.get("x-pigeon") != self._word:
            raise SignatureInvalid
        try:
            told = json.loads(body)
            member = Member(f"pigeon:{told['from']}", told["name"], "en")
        except (ValueError, KeyError, TypeError):
            raise InvalidRequest.of("body", "must have a sender") from None
        if "packet" in told:
            return Tap(member, told["chat"], told["message"], told["packet"], "")
        return Message(
            member,
            *(told["chat"], told["message"], told["text"], told.get("answers")),
            is_private=told["chat"] == told["from"],
            title=told.get("title", "Loft"),
            is_form=told.get("form", False),
        )

    def answer(self, call: Tap | Message, text: str, *, is_alert: bool) -> Mapping[str, Any]:
        """Return the answer."""
        return {"coo": text} if text and (isinstance(call, Tap) or call.is_form) else {}

    def post(self, chat_id: str, card: Card, key: str) -> str:
        """Post a card."""
        return str(self._call(chat_id, "", card)["message"])

    def edit(self, chat_id: str, message_id: str, card: Card) -> None:
        """Edit a card."""
        self._call(chat_id, message_id, card)

    def offer_form(self, member: Member, chat_id: str) -> bool:
        """Return False, because the platform has no forms."""
        return False

    def notify(self, member: Member, chat_id: str, text: str) -> None:
        """Write to one member; ignore a failure."""
        card = Card("", text, (), None, None, None)
        try:
            self._call(member.host_id.partition(":")[2], "", card)
        except RedPacketError:
            return

    def _call(self, chat_id: str, message_id: str, card: Card) -> dict[str, Any]:
        text = "\n".join([card.title, *card.lines])
        body = {"chat": chat_id, "message": message_id, "text": text, "packet": card.packet_id}
        answer = self._http(f"{self._url}/pigeon").post(json.dumps(body).encode(), {})
        if answer.status == _BUSY:
            raise ChatBusy(retry_after_s=_BUSY_S)
        if answer.status == _GONE:
            raise ChatGone
        return dict(json.loads(answer.body))


class PigeonLoft(Platform):
    """Simulator of the test-only platform."""

    name, bot_name = "pigeon", "Coo"

    def __init__(self, secret: Mapping[str, str], callback_url: str) -> None:
        super().__init__(secret, callback_url, PEOPLE)
        self.chats[GROUP] = Chat(GROUP, "Loft")

    @staticmethod
    def host_id(person: Person) -> str:
        """Return the member's id for the bot."""
        return f"pigeon:{person.key}"

    def private_chat(self, person: Person) -> Chat:
        """Return a private chat."""
        return Chat(person.key, person.name, person.key)

    def routes(self) -> list[Route]:
        """Return the only route."""
        return [Route("/pigeon", self._take, methods=["POST"])]

    def write(self, person: Person, chat: Chat, text: str, answers: str | None) -> None:
        """Deliver a message."""
        shown = Shown(str(self.number()), person.key, [(text, False)], answers=answers)
        chat.messages.append(shown)
        body = {"chat": chat.chat_id, "message": shown.message_id, "text": text, "answers": answers}
        self.in_turn("all", self._deliver(person, body))

    def tap(self, person: Person, chat: Chat, shown: Shown, data: str | dict[str, str]) -> None:
        """Deliver a tap."""
        body = {"chat": chat.chat_id, "message": shown.message_id, "packet": data}
        self.in_turn("all", self._deliver(person, body))

    async def _deliver(self, person: Person, body: dict[str, Any]) -> None:
        told = json.dumps({**body, "from": person.key, "name": person.name}).encode()
        for _ in range(_DELIVERIES):
            answer = await self.post(told, {"x-pigeon": self.secret["pigeon_word"]}, _DEADLINE_S)
            if answer is not None and answer.is_success:
                if "coo" in answer.json():
                    self.toast(person.key, answer.json()["coo"])
                return

    async def _take(self, request: Request) -> Response:
        body = json.loads(await request.body())
        chat = self.by_id(body["chat"])
        if chat is None:
            return Response(status_code=_GONE)
        if self.rates.wait_s((chat.chat_id, 5, 1.0)):
            return Response(status_code=_BUSY)
        shown = chat.find(body["message"])
        if shown is None and not body["message"]:
            buttons = [{"text": "Peck", "callback_data": body["packet"]}]
            shown = Shown(str(self.number()), BOT, [], buttons)
            chat.messages.append(shown)
        if shown is not None:
            shown.runs = [(body["text"], False)]
        return JSONResponse({"message": shown.message_id if shown else body["message"]})


def registry_line() -> ConnectorName:
    """Return the registry line that adds the test-only platform."""
    line = str.__new__(ConnectorName, "pigeon")
    line._name_, line._value_ = "PIGEON", "pigeon"
    line.implementation = f"{__name__}:Pigeon"
    return line


@dataclass
class Joined:
    """Connector with its simulated platform. The bot answers each call with *reply*."""

    platform: Platform
    connector: Connector
    web: httpx.Client
    calls: list[Call] = field(default_factory=list)
    reply: str = ""
    status: int = 200
    raw: list[tuple[dict[str, str], bytes]] = field(default_factory=list)

    @property
    def group(self) -> Chat:
        """Group of three members."""
        return self.platform.chats[GROUP]

    def call(self) -> Any:
        """Wait for the oldest call to the bot that no test has taken, and return it."""
        self._wait(lambda: bool(self.calls))
        return self.calls.pop(0)

    def toasts(self, person: Person) -> list[str]:
        """Return the messages that only one member has seen."""
        return [each["text"] for each in self.platform.toasts[person.key]]

    def wait_for_toast(self, person: Person) -> str:
        """Wait for the first toast of a member."""
        self._wait(lambda: bool(self.platform.toasts[person.key]))
        return self.toasts(person)[0]

    def settle(self) -> None:
        """Wait until all deliveries so far have ended."""
        self._wait(lambda: all(task.done() for task in self.platform.last.values()))

    def write(self, person: Person, text: str, **more: str) -> None:
        """Write as a member."""
        self._act("write", person, text=text, **more)

    def tap(self, person: Person, message_id: str, **more: str | dict[str, str]) -> None:
        """Tap a card as a member."""
        self._act("tap", person, message=message_id, **more)

    async def answer(self, request: Request) -> Response:
        """Answer a call as the chat function does."""
        body = await request.body()
        headers = dict(request.headers)
        self.raw.append((headers, body))
        # Use a thread, because the connector may call the platform, which this event loop serves.
        call = await run_in_threadpool(self.connector.read, headers, body, _now_ms())
        self.calls.append(call)
        told: Mapping[str, Any] = {}
        if isinstance(call, Tap | Message) and self.status == _OK:
            told = self.connector.answer(call, self.reply, is_alert=True)
        return JSONResponse(dict(told), self.status)

    def _act(self, path: str, person: Person, **body: str | dict[str, str]) -> None:
        told = {"platform": self.platform.name, "member": person.key, **body}
        assert self.web.post(f"/_fake/{path}", json=told).status_code == 202

    @staticmethod
    def _wait(is_done: Callable[[], bool]) -> None:
        deadline_s = time.monotonic() + WAIT_S
        while not is_done():
            assert time.monotonic() < deadline_s, "the platform did not call the bot"
            time.sleep(0.01)


@contextmanager
def _served(app: Starlette, port: int) -> Iterator[None]:
    """Serve *app* from a thread."""
    config = uvicorn.Config(app, host=HOST, port=port, log_level="critical", ws="none")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        while not server.started:
            assert thread.is_alive(), "the simulators did not start"
            time.sleep(0.01)
        yield
    finally:
        server.should_exit = server.force_exit = True
        thread.join()


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


@contextmanager
def joined(name: ConnectorName) -> Iterator[Joined]:
    """Connect a connector of the registry to its simulator."""
    port = Ports.free().front
    url = f"http://{HOST}:{port}"
    secret = {**make_secret(url), "pigeon_word": "coo-coo", "pigeon_url": url}
    bots: dict[str, Joined] = {}

    async def bot(request: Request) -> Response:
        return await bots[request.path_params["name"]].answer(request)

    called = Starlette(routes=[Route("/chat/{name}", bot, methods=["POST"])])
    loft = PigeonLoft(secret, "http://bot/chat")
    platforms: Sequence[Platform] = [*both(secret, "http://bot/chat"), loft]
    for platform in platforms:
        platform.transport = httpx.ASGITransport(called)
        platform.retry_scale = 0.001
    http = partial(HttpClient, call_ms_max=10_000, allows_private=True)
    connector = name.connect(ConnectorEnvironment(secret, http, _now_ms))
    assert connector
    platform = next(each for each in platforms if each.name == name)
    with _served(application(platforms), port), httpx.Client(base_url=url, trust_env=False) as web:
        bots[name] = Joined(platform, connector, web)
        yield bots[name]
