"""HTTP server for the simulators: the platforms' own routes, and the page of the group chats."""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.routing import Route

from local.chat.lark import LarkSimulator
from local.chat.room import PEOPLE, Person, Platform, crowd
from local.chat.telegram import TelegramSimulator

PAGE = Path(__file__).with_name("page.html")
KINDS: tuple[type[Platform], ...] = (TelegramSimulator, LarkSimulator)


def both(
    secret: Mapping[str, str], callback_url: str, people: Sequence[Person] = PEOPLE
) -> list[Platform]:
    """Return both simulated platforms; they call the bot at *callback_url*/NAME."""
    return [kind(secret, callback_url, people) for kind in KINDS]


def application(simulated: Sequence[Platform]) -> Starlette:
    """Return the platforms as a web application."""
    platforms = {each.name: each for each in simulated}

    async def state(_: Request) -> Response:
        return JSONResponse({name: each.state() for name, each in platforms.items()})

    async def join(request: Request) -> Response:
        """Add many users to the groups, for a demonstration."""
        people = crowd(int(json.loads(await request.body())["size"]))
        for each in platforms.values():
            each.join(people)
        return JSONResponse([person.key for person in people])

    def acting(act: Callable[[Platform, Person, dict[str, Any]], None]) -> Any:  # noqa: ANN401
        async def answer(request: Request) -> Response:
            try:
                body = json.loads(await request.body())
                platform = platforms[body["platform"]]
                act(platform, platform.people[body["member"]], body)
            except (KeyError, ValueError, TypeError) as error:
                return JSONResponse({"error": repr(error)}, 422)
            return JSONResponse({}, 202)

        return answer

    routes = [route for each in platforms.values() for route in each.routes()]
    return Starlette(
        routes=[
            *routes,
            Route("/", lambda _: FileResponse(PAGE)),
            Route("/_fake/state", state),
            Route("/_fake/crowd", join, methods=["POST"]),
            Route("/_fake/write", acting(_write), methods=["POST"]),
            Route("/_fake/tap", acting(_tap), methods=["POST"]),
        ]
    )


def _write(platform: Platform, person: Person, body: dict[str, Any]) -> None:
    chat = platform.chat_of(body.get("place", "group"), person)
    platform.write(person, chat, str(body["text"]), body.get("answers"))


def _tap(platform: Platform, person: Person, body: dict[str, Any]) -> None:
    """Tap a button. `data` forges the button's data; `form` has the values of a form."""
    chat = platform.chat_of(body.get("place", "group"), person)
    shown = chat.find(body["message"])
    if shown is None:
        raise KeyError(body["message"])
    own = next((each["callback_data"] for each in shown.buttons if "callback_data" in each), "")
    platform.tap(person, chat, shown, body.get("form") or str(body.get("data", own)))
