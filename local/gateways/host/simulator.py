"""Wallet of an embedding app, as `docs/reference/host-wallet.md` specifies it."""

import hmac
import json
import secrets
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Self

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from local.gateways.core import FINAL, confirmation_of, get, wall_s
from local.gateways.deliveries import RETRY_MS, Message, Posted
from local.gateways.policy import Call, Meeting, Mode
from local.gateways.records import (
    Changed,
    Consent,
    Made,
    Order,
    Refund,
    Refused,
    Transaction,
    Transfer,
)
from local.gateways.server import Provider, write_secret
from local.gateways.simulated_payers import Body

AGE_S_MAX = 300
PREFIX = "whsec_"
OTHERS_SECRET = f"{PREFIX}b3RoZXI="
REFUSALS = {"NOT_ENOUGH": "out_of_funds", "USER_NOT_AUTHORIZED": "not_authorized"}


@dataclass(frozen=True, slots=True)
class WalletSecrets:
    """Secrets for the two directions, so that a signature is valid in only one of them."""

    call_secret: str
    result_secret: str

    @classmethod
    def of(cls, file: Path) -> Self:
        """Return the secrets in *file*, and create them if they are missing."""
        if not file.exists():
            made = cls(*(PREFIX + b64encode(secrets.token_bytes(32)).decode() for _ in range(2)))
            write_secret(file, json.dumps(asdict(made)))
        return cls(**json.loads(file.read_text()))


class Host(Provider):
    """Host's wallet: one signed route, `POST /wallet`, and results sent to *callback_url*."""

    def __init__(
        self, keys: WalletSecrets, callback_url: str, retry_ms: Sequence[int] = RETRY_MS
    ) -> None:
        super().__init__(retry_ms)
        self.keys, self.callback_url = keys, callback_url
        self._do: dict[str, tuple[str, Callable[[Body, Meeting], Body]]] = {
            "payment.order": ("order", self._order),
            "payment.query": ("find_order", self._find_order),
            "payment.find": ("find_transaction", self._find_transaction),
            "payment.close": ("close", self._close),
            "refund.order": ("refund", self._refund),
            "refund.query": ("find_refund", self._find_refund),
            "transfer.order": ("transfer", self._transfer),
            "transfer.query": ("find_transfer", self._find_transfer),
            "transfer.cancel": ("cancel", self._cancel),
            "bill.read": ("statement", self._read_statement),
        }

    async def forget(self, body: Body) -> None:
        """Reset the books, and set a new `callback_url` if one is given."""
        self.callback_url = body.get("callback_url", self.callback_url)
        await super().forget(body)

    def routes(self) -> list[Route]:
        """Return the only route."""
        return [Route("/wallet", self._call, methods=["POST"])]

    def message(self, made: Made) -> Message | None:
        """Return a result as a Standard Webhooks message; all attempts have the same id."""
        if isinstance(made, Consent):
            return None
        kind, number, outside_no = f"{made.kind}.{made.state}", made.number, made.outside_no
        told = {"type": kind, "data": {"number": number, "outside_no": outside_no}}
        message_id, body = f"msg_{kind}_{number}_{outside_no}", json.dumps(told).encode()

        def signed(secret: str, at_s: int) -> dict[str, str]:
            return signed_headers(secret, message_id, body, at_s)

        def forge(now_s: int) -> list[Posted]:
            wrong, true = signed(OTHERS_SECRET, now_s), signed(self.keys.result_secret, now_s)
            return [
                (body, wrong),
                # The receiver must reject a signature by the secret for calls to the wallet.
                (body, signed(self.keys.call_secret, now_s)),
                (body.replace(b'"number": "', b'"number": "9'), true),
                (body, wrong | {"webhook-signature": "v1"}),
                (body, {}),
            ]

        return Message(
            *(self.callback_url, number, body),
            lambda at_s: signed(self.keys.result_secret, at_s),
            forge,
        )

    async def _call(self, request: Request) -> Response:
        body, kind = await request.body(), ""
        try:
            message_id = check(self.keys.call_secret, request.headers, body)
            told = json.loads(body)
            kind = told["type"]
            answer = await self._answer(request, kind, told["data"])
        except Refused as refused:
            self.calls.append(f"{kind} {refused.status}")
            return JSONResponse({"code": refused.code}, refused.status)
        content = json.dumps({"type": f"{kind}.answer", "data": answer}).encode()
        headers = signed_headers(self.keys.result_secret, message_id, content)
        self.calls.append(f"{kind} 200")
        return Response(content, 200, headers, "application/json")

    async def _answer(self, request: Request, kind: str, data: Body) -> Body:
        """Answer a call. NOT_FOUND and a refused transfer are signed responses with status 200."""
        action, do = get(self._do, kind, "UNKNOWN_TYPE")
        name = next((n for n in ("refund_no", "bill_no", "number") if n in data), "")
        call = Call(
            *(action, str(data.get(name, "")), data),
            creates=kind.endswith(".order"),
            is_authorized=bool(data.get("authorization_no")),
        )
        try:
            return await self.answer(request, call, lambda meeting: do(data, meeting))
        except Refused as refused:
            if action == "transfer" and (refusal := REFUSALS.get(refused.code)):
                fields = {"state": "refused", "refusal": refusal, "reason": refusal}
                return {name: data[name]} | fields
            if refused.status != HTTPStatus.NOT_FOUND or not name:
                raise
            return {name: data[name], "state": "not_found", "transactions": []}

    def _order(self, wanted: Body, _: Meeting) -> Body:
        names = ("number", "amount_fen", "user", "expires_at_ms")
        number, amount_fen, user, expires_at_ms = (wanted[name] for name in names)
        try:
            self.gateway.order(Order(number, wanted, amount_fen, user, expires_at_ms))
        except Refused as refused:
            if not refused.code.startswith("ORDER"):
                raise
        return self._find_order(wanted, _) | {"client": {"pay_url": f"wallet://pay/{number}"}}

    def _find_order(self, wanted: Body, _: Meeting) -> Body:
        order = get(self.gateway.orders, wanted["number"])
        return {
            "number": order.number,
            "state": order.state(self.gateway.clock.now_ms()),
            "transactions": [self._transaction(transaction) for transaction in order.transactions],
        }

    def _find_transaction(self, wanted: Body, _: Meeting) -> Body:
        try:
            transaction = self.gateway.find_transaction(wanted["transaction_id"])
        except Refused:
            return {"transaction": None}
        return {"transaction": self._transaction(transaction)}

    def _transaction(self, transaction: Transaction) -> Body:
        return _shown(transaction, "number", "amount_fen", "user", "paid_at_ms") | {
            "transaction_id": transaction.outside_no,
            "currency": self.gateway.orders[transaction.number].wanted["currency"],
            "refunded_fen": self.gateway.refunded_fen(transaction),
        }

    def _close(self, wanted: Body, _: Meeting) -> Body:
        with suppress(Refused):
            self.gateway.close(wanted["number"])
        return self._find_order(wanted, _)

    def _refund(self, wanted: Body, _: Meeting) -> Body:
        number = wanted["refund_no"]
        of = wanted["number"], wanted["transaction_id"], wanted["amount_fen"]
        try:
            refund = self.gateway.refund(number, *of, wanted)
        except Changed:
            raise
        except Refused:
            refund = self.gateway.refunds[number] = Refund(number, *of, 0, "", wanted, "failed")
        return _refund(refund)

    def _find_refund(self, wanted: Body, _: Meeting) -> Body:
        return _refund(get(self.gateway.refunds, wanted["refund_no"]))

    def _transfer(self, wanted: Body, meeting: Meeting) -> Body:
        asks = meeting.mode is Mode.ASKS_CONFIRMATION and not wanted["authorization_no"]
        number, amount_fen, user = (wanted[name] for name in ("bill_no", "amount_fen", "user"))
        return _transfer(
            self.gateway.transfer(meeting, number, wanted, amount_fen, user, asks=asks)
        )

    def _find_transfer(self, wanted: Body, _: Meeting) -> Body:
        return _transfer(get(self.gateway.transfers, wanted["bill_no"]))

    def _cancel(self, wanted: Body, _: Meeting) -> Body:
        with suppress(Refused):
            self.gateway.cancel(wanted["bill_no"])
        return self._find_transfer(wanted, _)

    def _read_statement(self, wanted: Body, _: Meeting) -> Body:
        kinds = ("payment", "refund") if wanted["kind"] == "in" else ("transfer",)
        statement = self.gateway.statement(wanted["day"], *kinds)
        return {"lines": statement and [asdict(line) for line in statement.lines]}


def signed_headers(
    secret: str, message_id: str, body: bytes, at_s: int | None = None
) -> dict[str, str]:
    """Return the headers that sign *body*."""
    timestamp = str(wall_s() if at_s is None else at_s)
    return {
        "webhook-id": message_id,
        "webhook-timestamp": timestamp,
        "webhook-signature": _signature(secret, message_id, timestamp, body),
    }


def check(secret: str, headers: Mapping[str, str], body: bytes) -> str:
    """Return a message's id; reject a wrong signature, or a time more than five minutes off."""
    message_id, timestamp = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "")
    if not timestamp.isdecimal() or abs(wall_s() - int(timestamp)) > AGE_S_MAX:
        raise Refused(401, "UNSIGNED", "the timestamp is more than five minutes off")
    wanted = _signature(secret, message_id, timestamp, body)
    given = headers.get("webhook-signature", "").split(" ")
    if not message_id or not any(hmac.compare_digest(wanted, signature) for signature in given):
        raise Refused(401, "UNSIGNED", "the signature does not fit")
    return message_id


def _signature(secret: str, message_id: str, timestamp: str, body: bytes) -> str:
    """Return `v1,` and the HMAC-SHA256 of id, timestamp and body, as in Standard Webhooks."""
    key = b64decode(secret.removeprefix(PREFIX))
    told = f"{message_id}.{timestamp}.".encode() + body
    return f"v1,{b64encode(hmac.digest(key, told, 'sha256')).decode()}"


def _shown(record: object, *names: str) -> Body:
    return {name: getattr(record, name) for name in names}


def _refund(refund: Refund) -> Body:
    shown = _shown(refund, "transaction_id", "amount_fen", "state", "refunded_at_ms")
    return shown | {"refund_no": refund.number, "number": refund.of_number}


def _transfer(transfer: Transfer) -> Body:
    return _shown(transfer, "state", "outside_no", "amount_fen", "user", "reason") | {
        "bill_no": transfer.number,
        "decided_at_ms": transfer.changed_at_ms if transfer.state in FINAL else 0,
        "confirmation": confirmation_of(transfer),
    }
