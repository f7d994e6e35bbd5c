"""Receiver over HTTP: webhooks call `/events/NAME`, and tests control it through `/_fake/NAME`."""

import asyncio
import json
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import Any

from standardwebhooks import Webhook
from standardwebhooks.webhooks import WebhookVerificationError
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

SLOW_S = 3.0


@dataclass
class Receiver:
    """Endpoint. *mode* is `ok`, `down`, `slow`, or `lost` (store the event, but return 500).

    Without a *secret*, the endpoint accepts unverified events.
    """

    secret: str = ""
    mode: str = "ok"
    events: list[dict[str, Any]] = field(default_factory=list)
    seen: Counter[str] = field(default_factory=Counter)
    asked_count: int = 0
    refused_count: int = 0

    async def take(self, request: Request) -> Response:
        """Handle one event, as the mode requires."""
        body = await request.body()
        self.asked_count += 1
        if self.mode == "down":
            return Response(status_code=503)
        try:
            told = self._read(body, dict(request.headers))
        except (WebhookVerificationError, ValueError):
            self.refused_count += 1
            return Response(status_code=401)
        if self.mode == "slow":
            await asyncio.sleep(SLOW_S)
        self.seen[told["id"]] += 1
        if self.seen[told["id"]] == 1:
            self.events.append(told)
        return Response(status_code=500 if self.mode == "lost" else 204)

    def _read(self, body: bytes, headers: dict[str, str]) -> Any:  # noqa: ANN401 - of JSON
        return Webhook(self.secret).verify(body, headers) if self.secret else json.loads(body)


def application() -> Starlette:
    """Return the receivers as a web application; a new name creates a receiver."""
    receivers: defaultdict[str, Receiver] = defaultdict(Receiver)

    async def take(request: Request) -> Response:
        return await receivers[request.path_params["name"]].take(request)

    async def read(request: Request) -> Response:
        receiver = receivers[request.path_params["name"]]
        return JSONResponse(
            {
                "mode": receiver.mode,
                "events": receiver.events,
                "repeated_count": sum(times - 1 for times in receiver.seen.values()),
                "asked_count": receiver.asked_count,
                "refused_count": receiver.refused_count,
            }
        )

    async def change(request: Request) -> Response:
        """Set `mode`, `secret`, or both."""
        receiver = receivers[request.path_params["name"]]
        told = json.loads(await request.body())
        receiver.mode, receiver.secret = (
            told.get("mode", receiver.mode),
            told.get("secret", receiver.secret),
        )
        return Response(status_code=204)

    return Starlette(
        routes=[
            Route("/events/{name}", take, methods=["POST"]),
            Route("/_fake/{name}", read, methods=["GET"]),
            Route("/_fake/{name}", change, methods=["PUT"]),
        ]
    )
