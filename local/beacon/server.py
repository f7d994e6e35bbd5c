"""drand's HTTP API, and `/_fake/mode` for what an endpoint may do wrong."""

import time
from collections.abc import Callable
from enum import StrEnum
from http import HTTPStatus

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from local.beacon.chain import LocalChain
from redpacket.fairness.model.beacon import BeaconRound

INFINITY = bytes([0xC0]) + bytes(47)
LATE_S = 60


class Mode(StrEnum):
    """Behavior of the endpoint."""

    OK = "ok"
    WRONG = "wrong_signature"
    INFINITY = "infinity"
    OTHER_ROUND = "other_round"
    LATE = "late"
    ABSENT = "absent"
    FAILS = "fails"
    GARBAGE = "garbage"
    DEEP = "deep"
    LONG = "long"


def application(chain: LocalChain, now_s: Callable[[], float] = time.time) -> Starlette:
    """Return the application of one endpoint."""
    mode = Mode.OK
    request_count = 0
    own = str(chain.info()["hash"])

    def newest() -> int:
        return chain.chain.first_round(int(now_s() * 1000) + 1) - 1

    async def info(request: Request) -> Response:
        return JSONResponse(chain.info()) if request.path_params["hash"] == own else _nothing()

    async def read(request: Request) -> Response:
        nonlocal request_count
        request_count += 1
        named = request.path_params["round"]
        if request.path_params["hash"] != own or not (named == "latest" or named.isdigit()):
            return _nothing()
        round_no = newest() if named == "latest" else int(named)
        is_late = mode is Mode.LATE and round_no > newest() - LATE_S // chain.period_s
        if is_late or mode is Mode.ABSENT or not 1 <= round_no <= newest():
            return _nothing()
        if mode is Mode.FAILS:
            return Response(status_code=HTTPStatus.INTERNAL_SERVER_ERROR)
        if mode is Mode.GARBAGE:
            return Response("<html>", media_type="text/html")
        if mode is Mode.DEEP:
            return Response("[" * 50_000, media_type="application/json")
        return JSONResponse(_said(chain, round_no, mode))

    async def change(request: Request) -> Response:
        nonlocal mode
        mode = Mode((await request.json())["mode"])
        return JSONResponse({"mode": mode, "asked": request_count})

    return Starlette(
        routes=[
            Route("/{hash}/info", info),
            Route("/{hash}/public/{round}", read),
            Route("/_fake/mode", change, methods=["POST"]),
        ]
    )


def _said(chain: LocalChain, round_no: int, mode: Mode) -> dict[str, object]:
    signed_no = round_no - 1 if mode in {Mode.WRONG, Mode.OTHER_ROUND} else round_no
    signature = INFINITY if mode is Mode.INFINITY else chain.signature(signed_no)
    said_no = signed_no if mode is Mode.OTHER_ROUND else round_no
    randomness = BeaconRound(said_no, signature).randomness
    body = {"round": said_no, "randomness": randomness, "signature": signature.hex()}
    return {**body, "padding": "x" * 100_000} if mode is Mode.LONG else body


def _nothing() -> Response:
    return JSONResponse({"error": "no such round"}, status_code=HTTPStatus.NOT_FOUND)
