"""Provider over HTTP: its own routes for the merchant, and `/_fake` for tests and people."""

import asyncio
import contextlib
import json
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from local.gateways.core import MS_PER_S, Gateway, WallClock
from local.gateways.deliveries import RETRY_MS, Deliveries, Message
from local.gateways.policy import Call, Meeting, Policy
from local.gateways.records import Made, Refused
from local.gateways.simulated_payers import Body, SimulatedPayers

TICK_S = 0.05
Done = TypeVar("Done")


class Provider(ABC):
    """Protocol of one provider on top of the core: routes, notifications, and names of states."""

    words: Mapping[str, str] = {}

    def __init__(self, retry_ms: Sequence[int] = RETRY_MS) -> None:
        self.calls: list[str] = []
        self.gateway = Gateway(WallClock(), Policy(), self._tell)
        self.deliveries = Deliveries(self.gateway, retry_ms)

    @abstractmethod
    def routes(self) -> list[Route]:
        """Return the routes that the merchant and its users call."""

    @abstractmethod
    def message(self, made: Made) -> Message | None:
        """Return the notification about *made* for the merchant, or None."""

    def user_of(self, name: str) -> str:
        """Return the provider's id for the user *name*."""
        return name

    async def forget(self, _: Body) -> None:
        """Reset the books, the policy, and the lists of calls and notifications."""
        self.gateway.policy = Policy()
        self.gateway.forget()
        self.calls.clear()
        await self.deliveries.forget()

    async def answer(self, request: Request, call: Call, do: Callable[[Meeting], Done]) -> Done:
        """Execute *call* as the policy decides. Raises Refused for a call that gets an error."""
        self.gateway.lapse()
        meeting = self.gateway.policy.meet(self.gateway, call)
        if meeting.wait_ms:
            await asyncio.sleep(meeting.wait_ms / MS_PER_S)
        done = do(meeting) if meeting.is_carried_out else None
        if meeting.hang_ms:
            await _hang(request, meeting.hang_ms)
        if meeting.refusal or done is None:
            raise meeting.refusal or Refused(500, "SYSTEM_ERROR")
        return done

    def _tell(self, made: Made) -> None:
        if message := self.message(made):
            self.deliveries.send(message)


def application(provider: Provider) -> Starlette:
    """Return a provider as a web application."""
    payers = SimulatedPayers(provider.gateway, provider.user_of, provider.words)
    shown: dict[str, Callable[[], Any]] = {
        "book": payers.book,
        "calls": lambda: provider.calls,
        "notifications": lambda: provider.deliveries.attempts,
    }

    async def control(request: Request) -> Response:
        name = request.path_params["name"]
        try:
            body = json.loads(await request.body() or "{}")
            if name == "forget":
                await provider.forget(body)
                return Response(status_code=204)
            return JSONResponse(payers.do(name, body))
        except Refused as refused:
            return JSONResponse({"code": refused.code, "message": refused.message}, refused.status)
        except ValueError as error:
            return JSONResponse({"code": "PARAM_ERROR", "message": str(error)}, 422)
        except (KeyError, TypeError) as error:
            return JSONResponse({"code": "PARAM_ERROR", "message": repr(error)}, 422)

    async def show(request: Request) -> Response:
        name = request.path_params["name"]
        return JSONResponse(shown[name]()) if name in shown else Response(status_code=404)

    @contextlib.asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        ticking = asyncio.get_running_loop().create_task(_tick(provider.gateway))
        yield
        ticking.cancel()
        await provider.deliveries.stop()

    controls = [Route("/_fake/{name}", control, methods=["POST"]), Route("/_fake/{name}", show)]
    return Starlette(lifespan=lifespan, routes=[*provider.routes(), *controls])


def write_secret(file: Path, text: str) -> None:
    """Write a file that only its owner can read."""
    file.touch(mode=0o600)
    file.write_text(text)


async def _hang(request: Request, for_ms: int) -> None:
    """Hang until the caller disconnects or the time has passed."""

    async def gone() -> None:
        while (await request.receive())["type"] != "http.disconnect":
            pass

    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(gone(), for_ms / MS_PER_S)


async def _tick(gateway: Gateway) -> None:
    """End overdue records, even without calls."""
    while True:
        gateway.lapse()
        await asyncio.sleep(TICK_S)
