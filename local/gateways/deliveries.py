"""Notifications over HTTP, with a few retries and the faults of a mode."""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from http import HTTPStatus

import httpx

from local.gateways.core import MS_PER_S, Gateway, wall_s
from local.gateways.policy import Mode

# A real provider retries for a day. These delays end before a test times out.
RETRY_MS = (200, 400, 800, 1_600, 3_200, 6_400)
ANSWER_TIMEOUT_S = 5.0
COPIES = 3
# Age in seconds at which receivers must reject a notification.
STALE_S = 601
# Milliseconds for which a notification waits for later ones that overtake it.
REORDER_MS = 5_000
Posted = tuple[bytes, dict[str, str]]


@dataclass(frozen=True, slots=True)
class Message:
    """Notification; each attempt sends the same body with a new signature."""

    url: str
    subject: str
    body: bytes
    sign: Callable[[int], dict[str, str]]
    """Returns the headers that sign the body at a time in seconds."""
    forge: Callable[[int], list[Posted]]
    """Returns forged requests, all of which receivers must reject."""


@dataclass(slots=True)
class Deliveries:
    """All notifications from one provider, whose policy chooses each notification's mode."""

    gateway: Gateway
    retry_ms: Sequence[int] = RETRY_MS
    attempts: list[dict[str, object]] = field(default_factory=list)
    """Deliveries and the receivers' statuses, for `GET /_fake/notifications`."""
    _held: list[Message] = field(default_factory=list)
    _under_way: set[asyncio.Task[None]] = field(default_factory=set)
    _posts: set[asyncio.Task[httpx.Response]] = field(default_factory=set)
    # All calls share one client, because each new client would load this machine's certificates.
    _client: httpx.AsyncClient = field(
        default_factory=lambda: httpx.AsyncClient(timeout=ANSWER_TIMEOUT_S, trust_env=False)
    )

    def send(self, message: Message) -> None:
        """Send *message* in the background, as the mode requires."""
        mode = self.gateway.policy.delivery(message.subject)
        if mode is Mode.REORDERED_NOTIFICATIONS:
            self._held.append(message)
            # The first notification waits for later ones.
            is_first = len(self._held) == 1
            self._start(self._send_held_backwards(REORDER_MS if is_first else 0))
        elif mode is not Mode.NO_NOTIFICATIONS:
            self._start(self._send(message, mode))

    async def forget(self) -> None:
        """Cancel unsent notifications, and return once every request in flight has ended."""
        for task in self._under_way:
            task.cancel()
        await asyncio.gather(*self._under_way, *self._posts, return_exceptions=True)
        self._held.clear()
        self.attempts.clear()

    async def stop(self) -> None:
        """Stop permanently."""
        await self.forget()
        await self._client.aclose()

    def _start(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        # The event loop keeps only a weak reference to a task.
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)

    async def _send(self, message: Message, mode: Mode) -> None:
        def signed(at_s: int) -> Posted:
            return message.body, message.sign(at_s)

        if mode is Mode.FORGED_NOTIFICATIONS:
            for posted in message.forge(wall_s()):
                await self._post(message, posted, "forged")
        if mode is Mode.STALE_NOTIFICATIONS:
            # Send only a notification signed ten minutes ago; the current one never arrives.
            await self._post(message, signed(wall_s() - STALE_S), "stale")
            return
        if mode is Mode.DUPLICATE_NOTIFICATIONS:
            posted = signed(wall_s())
            await asyncio.gather(*(self._post(message, posted, "duplicate") for _ in range(COPIES)))
            return
        for wait_ms in (*self.retry_ms, None):
            if await self._post(message, signed(wall_s()), "true"):
                return
            if wait_ms is not None:
                await asyncio.sleep(wait_ms / MS_PER_S)

    async def _send_held_backwards(self, wait_ms: int) -> None:
        await asyncio.sleep(wait_ms / MS_PER_S)
        held, self._held[:] = self._held[::-1], []
        for message in held:
            await self._send(message, Mode.OK)

    async def _post(self, message: Message, posted: Posted, kind: str) -> bool:
        """Post a message once, and return whether the receiver accepted it."""
        body, headers = posted
        status: int | None = None
        headers = {**headers, "Content-Type": "application/json"}
        post = asyncio.ensure_future(self._client.post(message.url, content=body, headers=headers))
        self._posts.add(post)
        post.add_done_callback(self._posts.discard)
        # Cancellation of a delivery does not abort its request: `forget` waits for the response.
        with suppress(httpx.HTTPError):
            status = (await asyncio.shield(post)).status_code
        self.attempts.append({"subject": message.subject, "kind": kind, "status": status})
        return status in {HTTPStatus.OK, HTTPStatus.NO_CONTENT}
