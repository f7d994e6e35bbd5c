"""Simulated WeChat: API v3 for the merchant, and the routes that identify the merchant's users."""

import asyncio
import gzip
import json
import re
import secrets
from base64 import urlsafe_b64encode
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime, timedelta
from hashlib import sha1, sha256
from http import HTTPStatus
from typing import Any, NoReturn
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from local.gateways.core import BEIJING, MS_PER_S, confirmation_of, day_of, digest, get
from local.gateways.deliveries import RETRY_MS, Message
from local.gateways.policy import Call, Meeting
from local.gateways.records import Consent, Made, Order, Refund, Refused, Transaction, Transfer
from local.gateways.server import Provider
from local.gateways.simulated_payers import Body
from local.gateways.wechat.statements import flow_file, trade_file
from local.gateways.wechat.wire import GatewayKeys, rfc3339

PAY = "/v3/pay/transactions"
REFUNDS = "/v3/refund/domestic/refunds"
TRANSFERS = "/v3/fund-app/mch-transfer/transfer-bills"
CONSENTS = "/v3/fund-app/mch-transfer/user-confirm-authorization"
CODE_PREFIX = "code-"
SCOPES = ("snsapi_base", "snsapi_userinfo")
NAMED = "+named"  # Suffix of an authorization code whose user agreed to share their name.
ACCOUNT_COOKIE = "account"
STATEMENT_READY_AFTER = timedelta(days=1, hours=10)
# Milliseconds until an order without an expiry expires at the provider.
ORDER_LIFE_MS = 2 * 60 * 60 * MS_PER_S
# Lifetime of tokens and tickets, and how long before expiry a new one is issued.
LENT_MS, RENEWED_MS = 7_200 * MS_PER_S, 300 * MS_PER_S
ORDER_NUMBER = re.compile(r"[0-9A-Za-z_|*-]{6,32}")
TRANSFER_NUMBER = re.compile(r"[0-9A-Za-z]{1,32}")
OPENID = re.compile(r"o[0-9A-Za-z_-]{27}")
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(Z|[+-]\d\d:\d\d)")
DAY = re.compile(r"\d{4}-\d\d-\d\d")
# Maximum lengths of a body's texts; an empty text is also invalid.
TEXTS = {
    "appid": 32,
    "mchid": 32,
    "description": 127,
    "attach": 128,
    "time_expire": 64,
    "notify_url": 256,
    "authorization_notify_url": 256,
    "transaction_id": 32,
    "reason": 80,
    "transfer_scene_id": 36,
    "transfer_remark": 32,
    "user_display_name": 64,
    **dict.fromkeys(("out_trade_no", "out_refund_no", "out_bill_no", "out_authorization_no"), 32),
}
TRADE_BILLS = {"ALL": ("payment", "refund"), "SUCCESS": ("payment",), "REFUND": ("refund",)}
# Amounts in a refund notification; queries return more.
REFUND_AMOUNTS = ("total", "refund", "payer_total", "payer_refund")
# Maximum amount of a transfer without the payee's name.
NAMELESS_FEN_MAX = 199_999
TRANSFER_FEN_MIN = 10
STATES = {
    "unpaid": "NOTPAY",
    "paid": "SUCCESS",
    "closed": "CLOSED",
    "awaiting_confirmation": "WAIT_USER_CONFIRM",
    "processing": "PROCESSING",
    "cancelling": "CANCELING",
    "cancelled": "CANCELLED",
    "succeeded": "SUCCESS",
    "failed": "FAIL",
    "active": "TAKING_EFFECT",
}
Handler = Callable[[Call, Meeting], Body | None]


class WeChat(Provider):
    """Provider of one merchant."""

    words = STATES

    def __init__(
        self, keys: GatewayKeys, base_url: str, retry_ms: Sequence[int] = RETRY_MS
    ) -> None:
        super().__init__(retry_ms)
        self.keys, self.base_url = keys, base_url
        self.files: dict[str, bytes] = {}
        # Value and expiry of each token or ticket, keyed by purpose.
        self.lent: dict[str, tuple[str, int]] = {}
        # Names of users who agreed to share them, keyed by access token.
        self.named: dict[str, str] = {}

    def user_of(self, name: str) -> str:
        """Return the openid for the user *name*."""
        return openid_of(self.keys.merchant.app_id, name)

    def routes(self) -> list[Route]:
        """Return the routes of API v3, and those that identify a user."""
        order, transfer = f"{PAY}/out-trade-no/{{number}}", f"{TRANSFERS}/out-bill-no/{{number}}"
        consent = f"{CONSENTS}/out-authorization-no/{{number}}"
        return [
            self._served("POST", f"{PAY}/jsapi", "order", self._order),
            self._served("POST", f"{PAY}/native", "order", self._order),
            self._served("GET", order, "find_order", self._find_order),
            self._served("GET", f"{PAY}/id/{{number}}", "find_transaction", self._find_paid),
            self._served("POST", f"{order}/close", "close", self._close),
            self._served("POST", REFUNDS, "refund", self._refund),
            self._served("GET", f"{REFUNDS}/{{number}}", "find_refund", self._find_refund),
            self._served("POST", TRANSFERS, "transfer", self._transfer),
            self._served("POST", f"{TRANSFERS}/transfer", "transfer", self._authorized_transfer),
            self._served("GET", transfer, "find_transfer", self._find_transfer),
            self._served("POST", f"{transfer}/cancel", "cancel", self._cancel),
            self._served("POST", CONSENTS, "ask", self._ask),
            self._served("GET", consent, "find_consent", self._find_consent),
            self._served("POST", f"{consent}/close", "end", self._end),
            self._served("GET", "/v3/bill/tradebill", "statement", self._trades),
            self._served("GET", "/v3/bill/fundflowbill", "statement", self._flows),
            Route("/v3/billdownload/file", self._download),
            # Requests for certificates also end here, because a public key replaces them.
            self._served("GET", "/v3/{path:path}", "unknown", _unknown),
            Route("/connect/oauth2/authorize", self._authorize),
            Route("/sns/oauth2/access_token", self._login("code")),
            Route("/sns/jscode2session", self._login("js_code")),
            Route("/sns/userinfo", self._user_info),
            Route("/cgi-bin/stable_token", self._lend_token, methods=["POST"]),
            Route("/cgi-bin/ticket/getticket", self._lend_ticket),
        ]

    def message(self, made: Made) -> Message | None:
        """Return an API v3 event if the merchant gave a URL for it."""
        mch_id = self.keys.merchant.mch_id
        match made:
            case Transaction():
                order = self.gateway.orders[made.number]
                return self.keys.event(
                    *(order.wanted["notify_url"], "TRANSACTION.SUCCESS", "transaction"),
                    *(order.number, self._order_shown(order, made) | {"trade_state": "SUCCESS"}),
                )
            case Refund():
                shown = self._refund_shown(made, "SUCCESS") | {"mchid": mch_id}
                amount = {name: shown["amount"][name] for name in REFUND_AMOUNTS}
                told = shown | {"refund_status": shown.pop("status"), "amount": amount}
                url, kind, type_ = made.wanted.get("notify_url"), "REFUND.SUCCESS", "refund"
                number = made.number
            case Transfer():
                url, number = made.wanted.get("notify_url"), made.number
                kind, type_ = "MCHTRANSFER.BILL.FINISHED", "mch_payment"
                told = self._transfer_described(made)
            case Consent():
                url, number = made.wanted["authorization_notify_url"], made.number
                what = "CLOSED" if made.state == "closed" else "CONFIRMED"
                kind, type_ = f"MCHTRANSFER.AUTHORIZATION.{what}", "mch_payment"
                told = _consent_shown(made) | {"mchid": mch_id}
        return self.keys.event(url, kind, type_, number, told) if url else None

    # -- the protocol around each call

    def _served(self, method: str, path: str, action: str, handler: Handler) -> Route:
        async def endpoint(request: Request) -> Response:
            status, answer = 200, None
            try:
                call = await self._read(request, action)
                answer = await self.answer(
                    request, call, lambda meeting: handler(call, meeting) or {}
                )
                status = 200 if answer else 204
            except Refused as refused:
                status = refused.status
                answer = {"code": refused.code, "message": refused.message}
            self.calls.append(f"{method} {request.url.path} {status}")
            content = json.dumps(answer, ensure_ascii=False).encode() if answer else b""
            media_type = "application/json" if content else None
            return Response(content, status, self.keys.signed(content), media_type)

        return Route(path, endpoint, methods=[method])

    async def _read(self, request: Request, action: str) -> Call:
        """Return the call in a request. Raises Refused if the signature or the content is wrong."""
        body, query = await request.body(), request.scope["query_string"]
        target = (request.scope["raw_path"] + (b"?" + query if query else b"")).decode("latin-1")
        self.keys.check(request.method, target, request.headers, body)
        try:
            wanted = json.loads(body) if body else {}
        except ValueError:
            raise _wrong("the body is not JSON") from None
        if not isinstance(wanted, dict):
            raise _wrong("the body is not an object")
        _check_shape(wanted)
        merchant = self.keys.merchant
        if action in {"order", "transfer", "ask"} and wanted.get("appid") != merchant.app_id:
            raise Refused(400, "APPID_MCHID_NOT_MATCH", "the merchant has no such appid")
        wanted |= dict(request.query_params)
        is_named = "mchid" in wanted or action not in {"order", "find_order", "close"}
        if not is_named or wanted.get("mchid", merchant.mch_id) != merchant.mch_id:
            raise _wrong("mchid")
        names = ("out_trade_no", "out_refund_no", "out_bill_no", "out_authorization_no")
        of_body = next((str(wanted[name]) for name in names if name in wanted), "")
        is_authorized = request.url.path == f"{TRANSFERS}/transfer"
        return Call(
            *(action, request.path_params.get("number", of_body)),
            wanted | ({"kind": request.url.path.rpartition("/")[2]} if action == "order" else {}),
            creates=action in {"order", "refund", "transfer"},
            is_authorized=is_authorized,
        )

    # -- money in

    def _order(self, call: Call, _: Meeting) -> Body:
        wanted, number = call.wanted, str(call.wanted.get("out_trade_no", ""))
        amount, kind, payer = wanted.get("amount", {}), wanted["kind"], wanted.get("payer", {})
        if not ORDER_NUMBER.fullmatch(number):
            raise _wrong("out_trade_no: 6 to 32 of 0-9A-Za-z_-*")
        if not _is_amount(amount.get("total")) or amount.get("currency", "CNY") != "CNY":
            raise _wrong("amount.total: a whole number of fen, at least 1, in CNY")
        if kind == "jsapi":
            _check_openid(payer.get("openid"))
        if not wanted.get("description") or "?" in str(wanted.get("notify_url", "?")):
            raise _wrong("description, or a notify_url without parameters, is missing")
        closes_at_ms = self.gateway.clock.now_ms() + ORDER_LIFE_MS
        if until := wanted.get("time_expire"):
            closes_at_ms = _at_ms(until)
            if closes_at_ms <= self.gateway.clock.now_ms():
                raise _wrong("time_expire: it is over")
        self.gateway.order(
            Order(number, wanted, amount["total"], payer.get("openid"), closes_at_ms)
        )
        token = digest("prepay", number, digits=30)
        if kind == "native":
            return {"code_url": f"weixin://wxpay/bizpayurl?pr={token}"}
        return {"prepay_id": f"wx{token}"}

    def _find_order(self, call: Call, _: Meeting) -> Body:
        order = get(self.gateway.orders, call.number, "ORDER_NOT_EXIST")
        # Like the provider, show only the first payment.
        return self._order_shown(order, next(iter(order.transactions), None))

    def _find_paid(self, call: Call, _: Meeting) -> Body:
        paid = self.gateway.find_transaction(call.number)
        return self._order_shown(self.gateway.orders[paid.number], paid)

    def _close(self, call: Call, _: Meeting) -> None:
        self.gateway.close(call.number)

    def _refund(self, call: Call, _: Meeting) -> Body:
        wanted, amount = call.wanted, call.wanted.get("amount", {})
        if not ORDER_NUMBER.fullmatch(call.number) or not _is_amount(amount.get("refund")):
            raise _wrong("out_refund_no or amount.refund")
        if amount.get("currency") != "CNY":
            raise _wrong("amount.currency")
        paid = self._paid_of(wanted)
        if amount.get("total") != paid.amount_fen:
            raise Refused(400, "INVALID_REQUEST", "amount.total is not what was paid")
        of = call.number, wanted.get("out_trade_no", ""), paid.outside_no, amount["refund"], wanted
        refund = self.gateway.refund(*of)
        return self._refund_shown(refund, "PROCESSING")

    def _paid_of(self, wanted: Body) -> Transaction:
        """Return the payment to refund, found by the provider's id or by the order's number."""
        try:
            if "transaction_id" in wanted:
                return self.gateway.find_transaction(wanted["transaction_id"])
            return get(self.gateway.orders, wanted.get("out_trade_no", "")).transactions[0]
        except (Refused, IndexError):
            raise Refused(404, "RESOURCE_NOT_EXISTS", "no such payment") from None

    def _find_refund(self, call: Call, _: Meeting) -> Body:
        refund = get(self.gateway.refunds, call.number, "RESOURCE_NOT_EXISTS")
        return self._refund_shown(refund, "SUCCESS")

    def _order_shown(self, order: Order, paid: Transaction | None) -> Body:
        """Return an order as queries and notifications show it."""
        state = STATES[order.state(self.gateway.clock.now_ms())]
        shown = {
            **{name: order.wanted[name] for name in ("appid", "mchid")},
            "out_trade_no": order.number,
            "attach": order.wanted.get("attach", ""),
            "trade_state": "REFUND" if paid and self.gateway.refunded_fen(paid) else state,
            "trade_state_desc": state,
            "trade_type": order.wanted["kind"].upper(),
        }
        if paid is None:
            return shown | {"amount": {"total": order.amount_fen, "currency": "CNY"}}
        amounts = dict.fromkeys(("total", "payer_total"), paid.amount_fen)
        return shown | {
            "transaction_id": paid.outside_no,
            "bank_type": "OTHERS",
            "success_time": rfc3339(paid.paid_at_ms),
            "payer": {"openid": paid.user},
            "amount": amounts | dict.fromkeys(("currency", "payer_currency"), "CNY"),
        }

    def _refund_shown(self, refund: Refund, status: str) -> Body:
        """Return a refund as calls, queries and notifications show it."""
        paid_fen = self.gateway.find_transaction(refund.transaction_id).amount_fen
        refunded = dict.fromkeys(("refund", "payer_refund", "settlement_refund"), refund.amount_fen)
        totals = dict.fromkeys(("total", "payer_total", "settlement_total"), paid_fen)
        at = rfc3339(refund.refunded_at_ms)
        return {
            "refund_id": refund.outside_no,
            "out_refund_no": refund.number,
            "transaction_id": refund.transaction_id,
            "out_trade_no": refund.of_number,
            "channel": "ORIGINAL",
            "user_received_account": "支付用户零钱",
            "create_time": at,
            **({} if status == "PROCESSING" else {"success_time": at}),
            "status": status,
            "amount": refunded | totals | {"discount_refund": 0, "currency": "CNY"},
        }

    # -- money out

    def _transfer(self, call: Call, meeting: Meeting) -> Body:
        _check_transfer(call.wanted)
        _check_openid(call.wanted.get("openid"))
        return self._made(call, meeting, call.wanted["openid"], asks=True)

    def _authorized_transfer(self, call: Call, meeting: Meeting) -> Body:
        _check_transfer(call.wanted)
        if {"openid", "notify_url"} & set(call.wanted):
            raise _wrong("openid and notify_url have no place here")
        consent = self.gateway.consents.get(call.wanted.get("out_authorization_no", ""))
        is_known = call.wanted["out_bill_no"] in self.gateway.transfers
        if consent is None or not (is_known or consent.state == "active"):
            raise Refused(403, "USER_NOT_AUTHORIZED", "the user has not agreed, or not any more")
        return self._made(call, meeting, consent.user, asks=False)

    def _made(self, call: Call, meeting: Meeting, openid: str, *, asks: bool) -> Body:
        number, fen = call.wanted["out_bill_no"], call.wanted["transfer_amount"]
        made = self.gateway.transfer(meeting, number, call.wanted, fen, openid, asks=asks)
        return _transfer_shown(made) | ({"package_info": p} if (p := confirmation_of(made)) else {})

    def _find_transfer(self, call: Call, _: Meeting) -> Body:
        return self._transfer_described(get(self.gateway.transfers, call.number))

    def _cancel(self, call: Call, _: Meeting) -> Body:
        transfer = self.gateway.cancel(call.number)
        shown = _transfer_shown(transfer)
        names = ("out_bill_no", "transfer_bill_no", "state")
        return {name: shown[name] for name in names} | _updated(transfer)

    def _transfer_described(self, transfer: Transfer) -> Body:
        """Return a transfer as queries and notifications show it."""
        return _transfer_shown(transfer) | {
            "mch_id": self.keys.merchant.mch_id,
            "openid": transfer.user,
            **{n: transfer.wanted[n] for n in ("appid", "transfer_amount", "transfer_remark")},
            **_updated(transfer),
        }

    # -- consents

    def _ask(self, call: Call, _: Meeting) -> Body:
        needed = {"appid", "openid", "transfer_scene_id", "user_display_name"}
        if not TRANSFER_NUMBER.fullmatch(call.number) or not all(map(call.wanted.get, needed)):
            raise _wrong("out_authorization_no, or one of " + ", ".join(sorted(needed)))
        if "?" in str(call.wanted.get("authorization_notify_url", "?")):
            raise _wrong("authorization_notify_url")
        _check_openid(call.wanted["openid"])
        consent = self.gateway.ask(call.number, call.wanted, call.wanted["openid"])
        shown = _consent_shown(consent) | {"package_info": confirmation_of(consent)}
        names = ("out_authorization_no", "state", "create_time", "package_info")
        return {name: shown[name] for name in names if shown[name]}

    def _find_consent(self, call: Call, _: Meeting) -> Body:
        consent = get(self.gateway.consents, call.number)
        is_asked = call.wanted.get("is_display_authorization") == "true"
        package = {"package_info": p} if (p := confirmation_of(consent)) else {}
        return _consent_shown(consent) | (package if is_asked else {})

    def _end(self, call: Call, _: Meeting) -> Body:
        return _consent_shown(self.gateway.end(call.number, "CLOSE_VIA_MCH_API"))

    # -- statements

    def _trades(self, call: Call, _: Meeting) -> Body:
        merchant = self.keys.merchant
        names = {"公众账号ID": merchant.app_id, "商户号": merchant.mch_id, "货币种类": "CNY"}
        kinds = TRADE_BILLS.get(call.wanted.get("bill_type", "ALL"))
        if kinds is None:
            raise _wrong("bill_type")
        return self._file(call, lambda lines: trade_file(lines, names), *kinds)

    def _flows(self, call: Call, _: Meeting) -> Body:
        if call.wanted.get("account_type") != "OPERATION":
            raise _wrong("account_type: transfers are paid by OPERATION")
        return self._file(call, flow_file, "lock", "unlock")

    def _file(self, call: Call, write: Callable[[list[Any]], str], *kinds: str) -> Body:
        day = call.wanted.get("bill_date", "")
        if call.wanted.get("tar_type", "GZIP") != "GZIP" or not DAY.fullmatch(day):
            raise _wrong("tar_type or bill_date")
        try:
            begins_at = datetime.fromisoformat(day).replace(tzinfo=BEIJING)
        except ValueError:
            raise _wrong("bill_date") from None
        now_ms, statement = self.gateway.clock.now_ms(), self.gateway.statement(day, *kinds)
        if day_of(now_ms) <= day:
            raise Refused(400, "NO_STATEMENT_EXIST", "the day is not over")
        ready_at_s = (begins_at + STATEMENT_READY_AFTER).timestamp()
        if statement is None or now_ms < ready_at_s * MS_PER_S:
            raise Refused(400, "STATEMENT_CREATING", "the statement is made at ten")
        if not statement.lines:
            raise Refused(400, "NO_STATEMENT_EXIST", "nothing happened on this day")
        content = write(statement.lines).encode()
        # The hash is that of the correct file, so a damaged file does not match.
        hash_value = sha1(content, usedforsecurity=False).hexdigest()
        if statement.is_damaged:
            content = content[: len(content) // 2]
        if call.wanted.get("tar_type") == "GZIP":
            content = gzip.compress(content, mtime=0)
        token = secrets.token_hex(16)
        self.files[token] = content
        url = f"{self.base_url}/v3/billdownload/file?token={token}"
        return {"hash_type": "SHA1", "hash_value": hash_value, "download_url": url}

    async def _download(self, request: Request) -> Response:
        try:
            call = await self._read(request, "download")
            content = get(self.files, call.wanted.get("token", ""))
        except Refused as refused:
            refusal = json.dumps({"code": refused.code}).encode()
            return Response(refusal, refused.status, self.keys.signed(refusal), "application/json")
        # Like the real provider, do not sign the file: the earlier signed response contains its
        # hash.
        return Response(content, media_type="application/octet-stream")

    # -- identity of a client

    async def _authorize(self, request: Request) -> Response:
        """Redirect back with a code. Each browser is one account; it shares its name if asked."""
        given = request.query_params
        back = given.get("redirect_uri", "")
        is_known = given.get("appid") == self.keys.merchant.app_id
        if not is_known or given.get("scope") not in SCOPES or not back.startswith("http"):
            return Response("redirect_uri, scope or appid is wrong", HTTPStatus.BAD_REQUEST)
        name = request.cookies.get(ACCOUNT_COOKIE) or secrets.token_hex(8)
        end = NAMED if given["scope"] == "snsapi_userinfo" else ""
        query = urlencode({"code": f"{CODE_PREFIX}{name}{end}", "state": given.get("state", "")})
        answer = RedirectResponse(f"{back}?{query}", HTTPStatus.FOUND)
        answer.set_cookie(ACCOUNT_COOKIE, name, httponly=True)
        return answer

    def _login(self, code_name: str) -> Callable[[Request], Awaitable[Response]]:
        """Return the route that exchanges a code for an openid; errors have status 200."""

        async def endpoint(request: Request) -> Response:
            given, merchant = request.query_params, self.keys.merchant
            code = given.get(code_name, "")
            refused = await self._refusal(
                Call("login", code),
                {
                    (40013, "invalid appid"): given.get("appid") != merchant.app_id,
                    (40125, "invalid appsecret"): given.get("secret") != merchant.app_secret,
                    (40002, "invalid grant_type"): given.get("grant_type") != "authorization_code",
                    (40029, "invalid code"): not code.startswith(CODE_PREFIX),
                },
            )
            if refused:
                return refused
            name = code.removeprefix(CODE_PREFIX).removesuffix(NAMED)
            identity = {"openid": self.user_of(name)}
            if code_name == "js_code":
                # For mini programs, the JSON response has the content type text/plain.
                identity |= {"session_key": secrets.token_urlsafe(16)}
                return Response(json.dumps(identity), media_type="text/plain")
            token = secrets.token_urlsafe(32)
            is_named = code.endswith(NAMED)
            if is_named:
                self.named[token] = name
            scope = SCOPES[is_named]
            tokens = {"access_token": token, "expires_in": 7200, "scope": scope}
            return JSONResponse(identity | tokens)

        return endpoint

    async def _user_info(self, request: Request) -> JSONResponse:
        """Return the name of a user who agreed to share it; errors have status 200."""
        given = request.query_params
        name = self.named.get(given.get("access_token", ""))
        wrong = {(40001, "invalid credential"): name is None}
        if refused := await self._refusal(Call("user_info", str(name)), wrong):
            return refused
        picture_url = "http://thirdwx.qlogo.cn/mmopen/vi_32/picture/132"
        told = {"openid": given["openid"], "nickname": f"微信{name}", "headimgurl": picture_url}
        return JSONResponse(told)

    async def _refusal(self, call: Call, wrong: dict[tuple[int, str], bool]) -> JSONResponse | None:
        """Return the error for a call outside API v3, with status 200, or None if none occurred."""
        meeting = self.gateway.policy.meet(self.gateway, call)
        await asyncio.sleep(meeting.wait_ms / MS_PER_S)
        busy = meeting.refusal
        is_throttled = busy is not None and busy.status == HTTPStatus.TOO_MANY_REQUESTS
        refused = {
            (45011, "api minute-quota reach limit"): is_throttled,
            (-1, "system error"): busy is not None,
            **wrong,
        }
        for (number, message), applies in refused.items():
            if applies:
                return JSONResponse({"errcode": number, "errmsg": message})
        return None

    def _lend(self, name: str, what: str) -> dict[str, Any]:
        """Return the token or ticket for *what*; a new one is issued five minutes before expiry."""
        now_ms = self.gateway.clock.now_ms()
        value, ends_at_ms = self.lent.get(what, ("", 0))
        if ends_at_ms - now_ms < RENEWED_MS:
            value, ends_at_ms = secrets.token_urlsafe(64), now_ms + LENT_MS
            self.lent[what] = value, ends_at_ms
        return {name: value, "expires_in": (ends_at_ms - now_ms) // MS_PER_S}

    async def _lend_token(self, request: Request) -> Response:
        merchant = self.keys.merchant
        try:
            given = await request.json()
        except ValueError:
            given = None
        wanted = given if isinstance(given, dict) else {}
        refused = await self._refusal(
            Call("lend", "token"),
            {
                (47001, "data format error"): given is not wanted,
                (40002, "invalid grant_type"): wanted.get("grant_type") != "client_credential",
                (40013, "invalid appid"): wanted.get("appid") != merchant.app_id,
                (40125, "invalid appsecret"): wanted.get("secret") != merchant.app_secret,
            },
        )
        return refused or JSONResponse(self._lend("access_token", "token"))

    async def _lend_ticket(self, request: Request) -> Response:
        token, ends_at_ms = self.lent.get("token", ("", 0))
        given = request.query_params
        refused = await self._refusal(
            Call("lend", "ticket"),
            {
                (41001, "access_token missing"): not given.get("access_token"),
                (40001, "invalid credential"): given.get("access_token") != token,
                (42001, "access_token expired"): ends_at_ms <= self.gateway.clock.now_ms(),
                (40097, "invalid args"): given.get("type") != "jsapi",
            },
        )
        ok = {"errcode": 0, "errmsg": "ok"}
        return refused or JSONResponse(ok | self._lend("ticket", "ticket"))


def openid_of(app_id: str, name: str) -> str:
    """Return the openid of the user *name* for an app id: 28 characters, like a real openid."""
    hashed = sha256(f"openid/{app_id}/{name}".encode()).digest()
    return "o" + urlsafe_b64encode(hashed).decode()[:27]


def _transfer_shown(transfer: Transfer) -> Body:
    return {
        "out_bill_no": transfer.number,
        "transfer_bill_no": transfer.outside_no,
        "create_time": rfc3339(transfer.created_at_ms),
        "state": STATES[transfer.state],
        **({"fail_reason": transfer.reason} if transfer.reason else {}),
    }


def _updated(transfer: Transfer) -> Body:
    return {"update_time": rfc3339(transfer.changed_at_ms)}


def _consent_shown(consent: Consent) -> Body:
    names = ("appid", "openid", "user_display_name", "transfer_scene_id")
    shown: Body = {
        "out_authorization_no": consent.number,
        "state": STATES.get(consent.state, "CLOSED"),
        "create_time": rfc3339(consent.created_at_ms),
        **{name: consent.wanted[name] for name in names},
    }
    if consent.authorized_at_ms:
        shown["authorization_id"] = consent.outside_no
        shown["authorize_time"] = rfc3339(consent.authorized_at_ms)
    if consent.closed_at_ms:
        closed_at = rfc3339(consent.closed_at_ms)
        shown["close_info"] = {"close_time": closed_at, "close_reason": consent.reason}
    return shown


def _check_shape(wanted: Body) -> None:
    for name, length_max in TEXTS.items():
        text = wanted.get(name, "-")
        if not isinstance(text, str) or not 0 < len(text) <= length_max:
            raise _wrong(f"{name}: a text of at most {length_max} characters")
    for name in ("amount", "payer"):
        if not isinstance(wanted.get(name, {}), dict):
            raise _wrong(f"{name}: an object")


def _check_transfer(wanted: Body) -> None:
    amount: Any = wanted.get("transfer_amount")
    needed = ("transfer_scene_id", "transfer_remark", "transfer_scene_report_infos")
    if not TRANSFER_NUMBER.fullmatch(str(wanted.get("out_bill_no", ""))):
        raise _wrong("out_bill_no: at most 32 letters and digits")
    if not all(map(wanted.get, needed)):
        raise _wrong("one of " + ", ".join(needed))
    if not _is_amount(amount) or amount < TRANSFER_FEN_MIN:
        raise _wrong(f"transfer_amount: at least {TRANSFER_FEN_MIN} fen")
    if amount > NAMELESS_FEN_MAX and not wanted.get("user_name"):
        raise _wrong("user_name is missing")
    infos = wanted["transfer_scene_report_infos"]
    if not isinstance(infos, list) or not all(
        isinstance(info, dict) and info.get("info_type") and info.get("info_content")
        for info in infos
    ):
        raise _wrong("transfer_scene_report_infos")


def _check_openid(openid: object) -> None:
    if not isinstance(openid, str) or not OPENID.fullmatch(openid):
        raise _wrong("openid: one that the gateway gave")


def _at_ms(text: str) -> int:
    try:
        matched = TIME.fullmatch(text)
        return int(datetime.fromisoformat(matched[0] if matched else "").timestamp() * MS_PER_S)
    except ValueError:
        raise _wrong("time_expire: a time such as 2026-11-23T10:00:00+08:00") from None


def _unknown(_: Call, __: Meeting) -> NoReturn:
    raise Refused(404, "RESOURCE_NOT_EXISTS", "there is no such page")


def _is_amount(value: Any) -> bool:  # noqa: ANN401 - JSON
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


def _wrong(message: str) -> Refused:
    return Refused(400, "PARAM_ERROR", message)
