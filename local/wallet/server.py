"""The wallet over HTTP: one signed route for us, `/_fake` for tests."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from local.gateway.behaviour import DONE_ALL_THE_SAME, hang
from local.gateway.clock import MS_PER_S
from local.gateway.controls import control_routes
from local.gateway.errors import Refused
from local.gateway.modes import ANY_CALL, CREATING_CALL, Mode
from local.wallet.books import Body
from local.wallet.people import People
from local.wallet.signatures import check, signed_headers
from local.wallet.wallet import Wallet

TICK_S = 0.05


def application(wallet: Wallet) -> Starlette:
    """Return the wallet as a web application."""
    people = People(wallet)

    async def call(request: Request) -> Response:
        body, kind = await request.body(), ""
        try:
            message_id = check(wallet.secrets.call_secret, request.headers, body)
            told = json.loads(body)
            kind = told["type"]
            data = await _answer(wallet, request, kind, told["data"])
        except Refused as refused:
            wallet.calls.append(f"{kind} {refused.status}")
            return JSONResponse({"code": refused.code}, refused.status)
        content = json.dumps({"type": f"{kind}.answer", "data": data}).encode()
        headers = signed_headers(wallet.secrets.result_secret, message_id, content)
        wallet.calls.append(f"{kind} 200")
        return Response(content, 200, headers, "application/json")

    @contextlib.asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        ticking = asyncio.get_running_loop().create_task(_tick(wallet))
        yield
        ticking.cancel()
        await wallet.deliveries.stop()

    return Starlette(
        lifespan=lifespan,
        routes=[
            Route("/wallet", call, methods=["POST"]),
            *control_routes(people.posts(), people.gets()),
        ],
    )


async def _answer(wallet: Wallet, request: Request, kind: str, data: Body) -> Body:
    """Carry out a call as the mode wants it."""
    wallet.lapse()
    handlers = wallet.handlers()
    if kind not in handlers:
        raise Refused(404, "unknown_type", "no such call")
    among = CREATING_CALL if kind.endswith(".order") else ANY_CALL
    number = data.get("number") or data.get("bill_no") or data.get("refund_no") or ""
    mode = wallet.modes.draw(among, f"{kind} {number}")
    if mode is Mode.THROTTLES:
        raise Refused(429, "throttled", "too many calls")
    if mode is Mode.FAILS or (mode is Mode.REFUSES and kind != "transfer.order"):
        raise Refused(500, "failed", "nothing was done")
    if mode is Mode.TIMES_OUT:
        await hang(request, wallet.modes.hang_ms)
        raise Refused(504, "failed", "nothing was done")
    if mode is Mode.SLOW:
        await asyncio.sleep(wallet.modes.slow_ms / MS_PER_S)
    made = handlers[kind](data, mode)
    if mode is Mode.PAYS_AND_TIMES_OUT:
        await hang(request, wallet.modes.hang_ms)
    if mode in DONE_ALL_THE_SAME:
        raise Refused(500, "failed", "what was asked is done all the same")
    return made


async def _tick(wallet: Wallet) -> None:
    while True:
        wallet.lapse()
        await asyncio.sleep(TICK_S)
