"""Light client for DynamoDB, SQS and Secrets Manager, because botocore slows cold starts."""

from __future__ import annotations

import json
import random
import select
import time
from binascii import a2b_base64, b2a_base64
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from secrets import token_hex
from typing import Any
from urllib.parse import urlsplit

from redpacket.platform.aws.errors import PASSING, TOO_MANY, AwsRefused, AwsSilent
from redpacket.platform.aws.signature import Keys, signed
from redpacket.platform.time_budget import time_budget
from redpacket.platform.tls import context_for

_TARGETS = {
    "dynamodb": ("1.0", "DynamoDB_20120810"),
    "sqs": ("1.0", "AmazonSQS"),
    "secretsmanager": ("1.1", "secretsmanager"),
}

# Success, the statuses that botocore also retries, and the maximum waits before our only retry.
_OK, _BROKEN = 200, {500, 502, 503, 504}
_BROKEN_WAIT_S, _BUSY_WAIT_S = 0.05, 1.0


class _Exceptions:
    """Exception classes under the names that botocore's clients use."""

    class ConditionalCheckFailedException(AwsRefused):
        """The condition of a single write failed."""

    class TransactionCanceledException(AwsRefused):
        """A transaction was canceled; *response* contains its CancellationReasons."""

    class TransactionConflictException(AwsRefused):
        """A single write conflicted with a transaction."""

    class TransactionInProgressException(AwsRefused):
        """An earlier attempt with the same token is still running."""


class AwsClient:
    """Thread-safe client for one AWS service; it connects at its first call.

    The client attempts each call up to twice, and calls *keys* each time: credentials expire.
    """

    exceptions = _Exceptions

    def __init__(
        self,
        service: str,
        region: str,
        endpoint: str,
        *,
        keys: Callable[[], Keys],
        ca_bundle: str,
        connect_timeout_s: float,
        read_timeout_s: float,
    ) -> None:
        self._place, self._keys = (region, service), keys
        self._endpoint, self._ca_bundle = urlsplit(endpoint), ca_bundle
        self._path = self._endpoint.path or "/"
        self._connect_timeout_s, self._read_timeout_s = connect_timeout_s, read_timeout_s
        self._idle: list[HTTPConnection] = []

    def __getattr__(self, method: str) -> Callable[..., dict[str, Any]]:
        if method.startswith("_"):
            raise AttributeError(method)
        return partial(self._call, method.title().replace("_", ""))

    def close(self) -> None:
        """Close idle connections; the next call opens a new one."""
        while self._idle:
            self._idle.pop().close()

    __del__ = close

    def _call(self, operation: str, **arguments: Any) -> dict[str, Any]:  # noqa: ANN401 - any JSON
        if operation == "TransactWriteItems":
            # Both attempts have the same token, so that a retry after a lost response succeeds.
            arguments = {"ClientRequestToken": token_hex(16), **arguments}
        body = json.dumps(arguments, default=_base64_of).encode()
        wait_s = _BROKEN_WAIT_S
        try:
            return self._send(operation, body)
        except AwsSilent:
            pass
        except AwsRefused as error:
            if error.status not in _BROKEN:
                if error.code not in PASSING and error.status != TOO_MANY:
                    raise
                wait_s = _BUSY_WAIT_S
        time.sleep(random.uniform(0, wait_s))  # noqa: S311 - jitter
        return self._send(operation, body)

    def _send(self, operation: str, body: bytes) -> dict[str, Any]:
        version, prefix = _TARGETS[self._place[1]]
        headers = {
            "Host": self._endpoint.netloc,
            "Content-Type": f"application/x-amz-json-{version}",
            "X-Amz-Target": f"{prefix}.{operation}",
        }
        at = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
        headers = signed(headers, body, self._path, at, self._place, self._keys())
        try:
            status, text = self._ask(body, headers)
        except (OSError, HTTPException) as error:
            raise AwsSilent(f"{operation}: {error!r}") from error
        decoded: dict[str, Any] = {}
        try:
            decoded = json.loads(text, object_hook=_with_bytes if b'"B"' in text else None)
        except ValueError as error:
            # A proxy in front of an unavailable service may return an error page in HTML.
            if status == _OK:
                raise AwsSilent(f"{operation}: an answer that is cut off") from error
        if status != _OK:
            # The type is the model's name, "#" and the code; an older form appends ":" and a URL.
            code = str(decoded.get("__type", status)).rpartition("#")[2].partition(":")[0]
            raise getattr(self.exceptions, code, AwsRefused)(operation, code, status, decoded)
        return decoded

    def _ask(self, body: bytes, headers: dict[str, str]) -> tuple[int, bytes]:
        idle = self._find_idle()
        connection = idle or self._connection()
        try:
            if not idle:
                connection.timeout = time_budget.timeout_s(self._connect_timeout_s)
                connection.connect()
            connection.sock.settimeout(time_budget.timeout_s(self._read_timeout_s))
            connection.request("POST", self._path, body, headers)
            answer = connection.getresponse()
            text = answer.read()
        except BaseException:
            connection.close()
            raise
        self._idle.append(connection)
        return answer.status, text

    def _find_idle(self) -> HTTPConnection | None:
        with suppress(IndexError):  # Other threads may empty the list.
            while True:
                idle = self._idle.pop()
                # Between requests, only a closed connection is readable.
                if idle.sock and not select.select([idle.sock], [], [], 0)[0]:
                    return idle
                idle.close()
        return None

    def _connection(self) -> HTTPConnection:
        host, port = self._endpoint.hostname or "", self._endpoint.port
        if self._endpoint.scheme == "http":
            return HTTPConnection(host, port)
        context = context_for(host, self._ca_bundle)
        return HTTPSConnection(host, port, context=context)


def _base64_of(value: bytes) -> str:
    return b2a_base64(value, newline=False).decode()


def _with_bytes(attribute: dict[str, Any]) -> dict[str, Any]:
    """Decode a binary attribute's value; leave items that have an attribute "B" unchanged."""
    value = attribute.get("B")
    return {"B": a2b_base64(value)} if len(attribute) == 1 and isinstance(value, str) else attribute
