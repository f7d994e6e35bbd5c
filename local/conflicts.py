"""Proxy for the AWS emulator that makes transactions conflict as in DynamoDB.

The emulator executes transactions sequentially. This proxy locks a write transaction's items for a
while before it forwards the transaction. Meanwhile, it rejects conflicting writes and transactions
with DynamoDB's errors (docs/adr/0004). All other calls pass unchanged. An item's keys are `pk` and,
in most tables, `sk`.
"""

import argparse
import asyncio
import json
import random
from typing import Any, TypeAlias
from zlib import crc32

from starlette.types import ASGIApp, Receive, Scope, Send

from local.front import Proxy, read_body
from local.serving import serve

CONTROL = "/_conflicts"
"""Route that sets how long items are held: the minimum and maximum in milliseconds."""

API = "DynamoDB_20120810."
ERROR_TYPE = "com.amazonaws.dynamodb.v20120810#"
SINGLE_WRITES = frozenset({"PutItem", "UpdateItem", "DeleteItem"})
CANCELED = "Transaction cancelled, please refer cancellation reasons for specific reasons"
ONGOING = "Transaction is ongoing for the item"
IN_FLIGHT_MAX = 64

Key: TypeAlias = tuple[str, str, str]
"""Table name, partition key, and sort key of an item."""


class Conflicts:
    """ASGI proxy for *emulator* that holds items of write transactions for a time in *hold_ms*."""

    def __init__(self, emulator: ASGIApp, hold_ms: tuple[float, float], seed: int) -> None:
        self._emulator = emulator
        self._hold_ms = hold_ms
        self._random = random.Random(seed)  # noqa: S311 - chooses latencies
        self._held: set[Key] = set()
        self._tokens: set[str] = set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        assert scope["type"] == "http"
        if scope["path"] == CONTROL:
            shortest_ms, longest_ms = json.loads(await read_body(receive))
            self._hold_ms = shortest_ms, longest_ms
            await _answer(200, {}, send)
            return
        verb = _verb(scope)
        if verb in SINGLE_WRITES | {"TransactWriteItems", "TransactGetItems"}:
            body = await read_body(receive)
            receive = _again(body)
            try:
                request = json.loads(body)
                keys = _keys(verb, request)
            except (ValueError, LookupError, TypeError, AttributeError):
                pass  # The request is malformed, so the emulator will reject it.
            else:
                await self._meet(verb, request, keys, (scope, receive, send))
                return
        await self._emulator(scope, receive, send)

    async def _meet(
        self, verb: str, request: dict[str, Any], keys: list[Key], call: tuple[Scope, Receive, Send]
    ) -> None:
        token = request.get("ClientRequestToken", "")
        if refusal := self._refusal(verb, keys, token):
            await _answer(400, refusal, call[2])
            return
        if verb != "TransactWriteItems":
            await self._emulator(*call)
            return
        self._held.update(keys)
        self._tokens.add(token)
        try:
            await asyncio.sleep(self._random.uniform(*self._hold_ms) / 1000)
            await self._emulator(*call)
        finally:
            self._held.difference_update(keys)
            self._tokens.discard(token)

    def _refusal(self, verb: str, keys: list[Key], token: str) -> dict[str, Any] | None:
        if token and token in self._tokens:
            message = "The transaction with the given request token is already in progress"
            return _error("TransactionInProgressException", message)
        if self._held.isdisjoint(keys):
            return None
        if verb in SINGLE_WRITES:
            return _error("TransactionConflictException", ONGOING)
        codes = ["TransactionConflict" if key in self._held else "None" for key in keys]
        reasons = [
            {"Code": code} if code == "None" else {"Code": code, "Message": ONGOING}
            for code in codes
        ]
        error = _error("TransactionCanceledException", f"{CANCELED} [{', '.join(codes)}]")
        return {**error, "CancellationReasons": reasons}


def _verb(scope: Scope) -> str:
    """Return the name of the DynamoDB operation, or "" for other services."""
    target = dict(scope["headers"]).get(b"x-amz-target", b"").decode("latin-1")
    return target.removeprefix(API) if target.startswith(API) else ""


def _keys(verb: str, request: dict[str, Any]) -> list[Key]:
    """Return the keys of a request's items, in request order."""
    if verb in SINGLE_WRITES:
        return [_key(request)]
    return [_key(arguments) for each in request["TransactItems"] for arguments in each.values()]


def _key(arguments: dict[str, Any]) -> Key:
    item = arguments.get("Key") or arguments["Item"]
    return arguments["TableName"], item["pk"]["S"], item.get("sk", {"S": ""})["S"]


def _error(code: str, message: str) -> dict[str, Any]:
    return {"__type": f"{ERROR_TYPE}{code}", "Message": message}


async def _answer(status: int, answer: dict[str, Any], send: Send) -> None:
    body = json.dumps(answer).encode()
    headers = [
        (b"content-type", b"application/x-amz-json-1.0"),
        (b"content-length", b"%d" % len(body)),
        # DynamoDB clients verify this checksum, and retry if it is wrong.
        (b"x-amz-crc32", b"%d" % crc32(body)),
    ]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def _again(body: bytes) -> Receive:
    """Return an ASGI receive function that replays *body*."""

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body, "more_body": False}

    return receive


def main() -> None:
    """Serve until the process is stopped."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--port", type=int, required=True)
    arguments.add_argument("--emulator-port", type=int, required=True)
    arguments.add_argument("--hold-ms", type=float, nargs=2, required=True)
    arguments.add_argument("--seed", type=int, default=1)
    given = arguments.parse_args()
    shortest_ms, longest_ms = given.hold_ms
    emulator = Proxy(given.emulator_port, "", IN_FLIGHT_MAX, is_gateway=False)
    serve(Conflicts(emulator, (shortest_ms, longest_ms), given.seed), given.port, is_proxy=True)


if __name__ == "__main__":
    main()
