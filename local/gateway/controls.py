"""The routes under `/_fake`, by which tests and people reach in; nothing signs them."""

import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeVar

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from local.gateway.errors import Refused

Posted = Callable[[dict[str, Any]], dict[str, Any] | None]
Shown = Callable[[], Any]
Found = TypeVar("Found")


def control_routes(posts: Mapping[str, Posted], gets: Mapping[str, Shown]) -> list[Route]:
    """Return the routes of what can be done and what can be seen."""
    return [
        *(Route(f"/_fake/{name}", _posted(do), methods=["POST"]) for name, do in posts.items()),
        *(Route(f"/_fake/{name}", _shown(show)) for name, show in gets.items()),
    ]


def find(by_number: Mapping[str, Found], wanted: str) -> Found:
    """Return what has the number *wanted*, or the last one of those that begin with it.

    A withdrawal's bills begin with its id, and a number for each attempt follows.
    """
    numbers = [number for number in by_number if wanted and number.startswith(wanted)]
    if not numbers:
        raise Refused(404, "NOT_FOUND", "nothing has this number")
    return by_number[numbers[-1]]


def _posted(do: Posted) -> Callable[[Request], Awaitable[Response]]:
    async def endpoint(request: Request) -> Response:
        try:
            body = await request.body()
            done = do(json.loads(body) if body else {})
        except Refused as refused:
            told = {"code": refused.code, "message": refused.message}
            return JSONResponse(told, refused.status)
        except (KeyError, ValueError, TypeError) as error:
            return JSONResponse({"code": "PARAM_ERROR", "message": repr(error)}, 422)
        return Response(status_code=204) if done is None else JSONResponse(done)

    return endpoint


def _shown(show: Shown) -> Callable[[Request], Awaitable[Response]]:
    async def endpoint(_: Request) -> Response:
        return JSONResponse(show())

    return endpoint
