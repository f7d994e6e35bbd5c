"""The gateway over HTTP: API v3 for the merchant, `/sns` for its clients, `/_fake` for tests."""

import asyncio
import contextlib
import json
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable
from http import HTTPStatus
from urllib.parse import urlencode

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from local.gateway.behaviour import Behaviour
from local.gateway.clock import MS_PER_S
from local.gateway.controls import control_routes
from local.gateway.errors import Refused, parameter_error
from local.gateway.gateway import Call, Gateway, Handler
from local.gateway.keys import GatewayKeys
from local.gateway.modes import ANY_CALL, Mode
from local.gateway.numbers import openid_of
from local.gateway.people import People
from local.gateway.signatures import check_request, signed_headers

TICK_S = 0.05
CODE_PREFIX = "code-"
ACCOUNT_COOKIE = "account"
PAY = "/v3/pay/transactions"
REFUNDS = "/v3/refund/domestic/refunds"
TRANSFER = "/v3/fund-app/mch-transfer/transfer-bills"
CONSENT = "/v3/fund-app/mch-transfer/user-confirm-authorization"


def application(gateway: Gateway) -> Starlette:
    """Return the gateway as a web application."""
    behaviour, people = Behaviour(gateway), People(gateway)

    def signed(status: int, content: bytes) -> Response:
        headers = signed_headers(
            gateway.keys.private_key, gateway.keys.merchant.public_key_id, content
        )
        media_type = "application/json" if content else None
        return Response(content, status, headers, media_type)

    def served(method: str, path: str, handler: Handler, *, creates: bool = False) -> Route:
        async def endpoint(request: Request) -> Response:
            try:
                call = await read_call(gateway.keys, request)
                status, answer = await behaviour.answer(request, handler, call, creates=creates)
            except Refused as refused:
                status = refused.status
                answer = {"code": refused.code, "message": refused.message}
            gateway.calls.append(f"{method} {request.url.path} {status}")
            content = b"" if answer is None else json.dumps(answer, ensure_ascii=False).encode()
            return signed(status, content)

        return Route(path, endpoint, methods=[method])

    async def download(request: Request) -> Response:
        try:
            await read_call(gateway.keys, request)
        except Refused as refused:
            return signed(refused.status, json.dumps({"code": refused.code}).encode())
        content = gateway.bills.get(request.query_params.get("token", ""))
        if content is None:
            return signed(400, b'{"code": "PARAM_ERROR"}')
        # As on the real one: the file itself is not signed, its hash was told before.
        return Response(content, media_type="application/octet-stream")

    async def unknown(request: Request) -> Response:
        # Also for certificates: merchants with a public key have none to fetch.
        gateway.calls.append(f"{request.method} {request.url.path} 404")
        return signed(404, b'{"code": "RESOURCE_NOT_EXISTS"}')

    @contextlib.asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        ticking = asyncio.get_running_loop().create_task(tick(gateway))
        yield
        ticking.cancel()
        await gateway.deliveries.stop()

    by_bill, by_consent = f"{TRANSFER}/out-bill-no", f"{CONSENT}/out-authorization-no"
    return Starlette(
        lifespan=lifespan,
        routes=[
            served(
                "POST", f"{PAY}/jsapi", lambda c: gateway.create_order("jsapi", c), creates=True
            ),
            served(
                "POST", f"{PAY}/native", lambda c: gateway.create_order("native", c), creates=True
            ),
            served("GET", f"{PAY}/out-trade-no/{{number}}", gateway.find_order),
            served("GET", f"{PAY}/id/{{number}}", gateway.find_transaction),
            served("POST", f"{PAY}/out-trade-no/{{number}}/close", gateway.close_order),
            served("POST", REFUNDS, gateway.create_refund, creates=True),
            served("GET", f"{REFUNDS}/{{number}}", gateway.find_refund),
            served("POST", TRANSFER, gateway.create_transfer, creates=True),
            served(
                *("POST", f"{TRANSFER}/pre-transfer-with-authorization"),
                *(gateway.create_transfer,),
                creates=True,
            ),
            served(
                "POST", f"{TRANSFER}/transfer", gateway.create_authorized_transfer, creates=True
            ),
            served("GET", f"{by_bill}/{{number}}", gateway.find_transfer),
            served("POST", f"{by_bill}/{{number}}/cancel", gateway.cancel_transfer),
            served("POST", CONSENT, gateway.create_authorization),
            served("GET", f"{by_consent}/{{number}}", gateway.find_authorization),
            served("POST", f"{by_consent}/{{number}}/close", gateway.close_authorization),
            served("GET", "/v3/bill/tradebill", gateway.make_trade_bill),
            served("GET", "/v3/bill/fundflowbill", gateway.make_flow_bill),
            Route("/v3/billdownload/file", download),
            Route("/v3/{path:path}", unknown, methods=["GET", "POST"]),
            Route("/connect/oauth2/authorize", authorize(gateway)),
            Route("/sns/oauth2/access_token", login(gateway, "code")),
            Route("/sns/jscode2session", login(gateway, "js_code")),
            *control_routes(people.posts(), people.gets()),
        ],
    )


def authorize(gateway: Gateway) -> Callable[[Request], Awaitable[Response]]:
    """Return the page that leads back with a code, without a question: a browser is one account."""

    async def endpoint(request: Request) -> Response:
        given = request.query_params
        back = given.get("redirect_uri", "")
        is_known = given.get("appid") == gateway.keys.merchant.app_id
        if not is_known or given.get("scope") != "snsapi_base" or not back.startswith("http"):
            return Response("redirect_uri, scope or appid is wrong", HTTPStatus.BAD_REQUEST)
        name = request.cookies.get(ACCOUNT_COOKIE) or secrets.token_hex(8)
        said = urlencode({"code": f"{CODE_PREFIX}{name}", "state": given.get("state", "")})
        answer = RedirectResponse(f"{back}?{said}", HTTPStatus.FOUND)
        answer.set_cookie(ACCOUNT_COOKIE, name, httponly=True)
        return answer

    return endpoint


def login(gateway: Gateway, code_name: str) -> Callable[[Request], Awaitable[Response]]:
    """Return the route that tells whose a code is; its errors are answers of 200, as real ones."""

    async def endpoint(request: Request) -> Response:
        given, merchant = request.query_params, gateway.keys.merchant
        code = given.get(code_name, "")
        mode = gateway.modes.draw(ANY_CALL, f"login {code}")
        if mode is Mode.SLOW:
            await asyncio.sleep(gateway.modes.slow_ms / MS_PER_S)
        refused = {
            (-1, "system error"): mode is Mode.FAILS,
            (45011, "api minute-quota reach limit"): mode is Mode.THROTTLES,
            (40013, "invalid appid"): given.get("appid") != merchant.app_id,
            (40125, "invalid appsecret"): given.get("secret") != merchant.app_secret,
            (40002, "invalid grant_type"): given.get("grant_type") != "authorization_code",
            (40029, "invalid code"): not code.startswith(CODE_PREFIX),
        }
        for (number, message), applies in refused.items():
            if applies:
                return JSONResponse({"errcode": number, "errmsg": message})
        found = {"openid": openid_of(merchant.app_id, code.removeprefix(CODE_PREFIX))}
        if code_name == "js_code":
            # A mini program's answer calls itself text, though it is JSON.
            found |= {"session_key": secrets.token_urlsafe(16)}
            return Response(json.dumps(found), media_type="text/plain")
        tokens = {"access_token": secrets.token_urlsafe(32), "expires_in": 7200}
        return JSONResponse(found | tokens | {"scope": "snsapi_base"})

    return endpoint


async def read_call(keys: GatewayKeys, request: Request) -> Call:
    """Return a request of the merchant; Refused where it is not signed by it."""
    body = await request.body()
    query = request.scope["query_string"]
    target = (request.scope["raw_path"] + (b"?" + query if query else b"")).decode("latin-1")
    check_request(keys, request.method, target, request.headers, body)
    try:
        read = json.loads(body) if body else {}
    except ValueError:
        raise parameter_error("the body is not JSON") from None
    if not isinstance(read, dict):
        raise parameter_error("the body is not an object")
    return Call(request.path_params.get("number", ""), dict(request.query_params), read)


async def tick(gateway: Gateway) -> None:
    """End what is overdue, also while no call comes."""
    while True:
        gateway.lapse()
        await asyncio.sleep(TICK_S)
