"""Chats on a simulated platform: members, messages, private answers, and rate limits."""

import asyncio
import itertools
import time
from abc import ABC, abstractmethod
from collections import defaultdict, deque
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import httpx
from starlette.routing import Route

Run = tuple[str, bool]
"""Run of text, and whether the run is bold."""

BOT = "bot"
GROUP = "group"


@dataclass(frozen=True, slots=True)
class Person:
    """Member of the group; *number* determines the id on the platform."""

    key: str
    name: str
    number: int


# The last member's name contains characters that a card must escape.
PEOPLE = (Person("ming", "小明", 1), Person("ann", "Ann", 2), Person("bob", "Bob <3 & co", 3))

FEW = frozenset(person.key for person in PEOPLE)


def crowd(size: int) -> tuple[Person, ...]:
    """Return a group of *size* members for a demonstration."""
    return tuple(Person(f"tapper-{n}", f"抢手{n:03}", 1_000 + n) for n in range(size))


@dataclass
class Shown:
    """Message as members see it."""

    message_id: str
    author: str
    runs: list[Run]
    buttons: list[dict[str, str]] = field(default_factory=list)
    form: list[dict[str, str]] = field(default_factory=list)
    """Inputs with names and labels; the last one is the submit button."""
    answers: str | None = None
    cover: str | None = None
    edits: int = 0
    content: object = None
    """Content as the bot sent it, to detect edits that change nothing."""


@dataclass
class Chat:
    """Group, or the private chat between *owner* and the bot."""

    chat_id: str
    title: str
    owner: str | None = None
    is_open: bool = True
    messages: list[Shown] = field(default_factory=list)

    def find(self, message_id: str) -> Shown | None:
        """Return a message, or None."""
        return next((each for each in self.messages if each.message_id == message_id), None)


@dataclass
class Rates:
    """Sliding-window rate limits, with the times of recent calls per key."""

    now_s: Callable[[], float] = time.monotonic
    calls: defaultdict[str, deque[float]] = field(default_factory=lambda: defaultdict(deque))

    def wait_s(self, *limits: tuple[str, int, float]) -> float:
        """Count a call and return 0, or return the seconds until every limit allows the call."""
        now_s, waits_s = self.now_s(), [0.0]
        for key, most, window_s in limits:
            made = self.calls[f"{key}/{window_s}"]
            while made and made[0] <= now_s - window_s:
                made.popleft()
            if len(made) >= most:
                waits_s.append(made[-most] + window_s - now_s)
        if max(waits_s) == 0:
            for key, _, window_s in limits:
                self.calls[f"{key}/{window_s}"].append(now_s)
        return max(waits_s)


class Platform(ABC):
    """One simulated platform."""

    name: str
    bot_name: str
    group_id: str

    @staticmethod
    @abstractmethod
    def host_id(person: Person) -> str:
        """Return the user id that the bot derives for this member."""

    def __init__(
        self, secret: Mapping[str, str], callback_url: str, people: Sequence[Person] = PEOPLE
    ) -> None:
        self.secret, self.callback_url = secret, callback_url
        self.people: dict[str, Person] = {}
        self.rates = Rates()
        self.chats: dict[str, Chat] = {}
        self.toasts: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
        self.deliveries: list[dict[str, Any]] = []
        """Calls to the bot, with the statuses of the responses."""
        self.refused: list[str] = []
        """Error messages of the bot's failed calls and answers."""
        self.retry_scale = 1.0
        self._numbers = itertools.count(1)
        self.last: dict[str, asyncio.Task[None]] = {}
        self.transport: httpx.AsyncBaseTransport | None = None
        self._client: httpx.AsyncClient | None = None
        self.join(people)

    @abstractmethod
    def private_chat(self, person: Person) -> Chat:
        """Return a new private chat between *person* and the bot."""

    def join(self, people: Sequence[Person]) -> None:
        """Add people to the group."""
        for person in people:
            self.people[person.key] = person
            self.chats[person.key] = self.private_chat(person)

    @abstractmethod
    def routes(self) -> list[Route]:
        """Return the routes that the bot calls."""

    @abstractmethod
    def write(self, person: Person, chat: Chat, text: str, answers: str | None) -> None:
        """Show a member's message, and deliver it to the bot if the platform would."""

    @abstractmethod
    def tap(self, person: Person, chat: Chat, shown: Shown, data: str | dict[str, str]) -> None:
        """Deliver a tap with *data*, which a forged client can choose, or with a form's values."""

    def chat_of(self, place: str, person: Person) -> Chat:
        """Return the group, or the private chat between *person* and the bot."""
        return self.chats[GROUP if place == GROUP else person.key]

    def by_id(self, chat_id: str) -> Chat | None:
        """Return the chat with the platform's id, or None."""
        return next((chat for chat in self.chats.values() if chat.chat_id == chat_id), None)

    def number(self) -> int:
        """Return the next number for an id."""
        return next(self._numbers)

    def toast(self, person_key: str, text: str, *, is_alert: bool = False) -> None:
        """Show *text* to only one member."""
        shown = {"number": self.number(), "text": text, "is_alert": is_alert}
        self.toasts[person_key].append(shown)

    def in_turn(self, queue: str, delivery: Coroutine[Any, Any, None]) -> None:
        """Run *delivery* after all earlier deliveries in the queue."""
        before = self.last.get(queue)

        async def run() -> None:
            if before:
                await asyncio.wait([before])
            await delivery

        self.last[queue] = asyncio.get_running_loop().create_task(run())

    async def post(
        self, body: bytes, headers: Mapping[str, str], timeout_s: float
    ) -> httpx.Response | None:
        """Call the bot; return None if no response arrives in time."""
        if self._client is None:
            self._client = httpx.AsyncClient(trust_env=False, transport=self.transport)
        url, answer = f"{self.callback_url}/{self.name}", None
        sent = {"Content-Type": "application/json", **headers}
        try:
            async with asyncio.timeout(timeout_s):
                answer = await self._client.post(url, content=body, headers=sent, timeout=None)
        except (httpx.HTTPError, TimeoutError):
            answer = None
        self.deliveries.append({"status": answer.status_code if answer else None})
        return answer

    def state(self) -> dict[str, Any]:
        """Return everything that the page shows."""
        return {
            "bot": self.bot_name,
            "people": [{"key": each.key, "name": each.name} for each in self.people.values()],
            "answered": sum(bool(told) for told in self.toasts.values()),
            "chats": {
                place: {
                    "id": chat.chat_id,
                    "title": chat.title,
                    "is_open": chat.is_open,
                    "messages": [_seen(shown) for shown in chat.messages],
                }
                for place, chat in self.chats.items()
                if place == GROUP or place in FEW
            },
            "toasts": self.toasts,
            "deliveries": self.deliveries,
            "refused": self.refused,
        }


def _seen(shown: Shown) -> dict[str, Any]:
    return {
        "id": shown.message_id,
        "author": shown.author,
        "runs": shown.runs,
        "buttons": shown.buttons,
        "form": shown.form,
        "answers": shown.answers,
        "cover": shown.cover,
        "edits": shown.edits,
    }
