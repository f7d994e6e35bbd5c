"""Client of the payment function, which reaches providers from outside the VPC."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from redpacket.platform.aws.errors import translated
from redpacket.platform.errors import Unavailable


class LambdaPayments:
    """Client that orders packet payments for functions that cannot reach providers.

    Its methods raise Unavailable.
    """

    def __init__(self, connect: Callable[[], Any], function: str) -> None:
        self._connect = connect
        self._function = function

    def order(self, number: str, host_id: str) -> Mapping[str, Any]:
        """Order a payment, and return it in the form of GET /me/payments/{payment_id}."""
        return self._ask({"payment_id": number, "host_id": host_id})

    def close(self, number: str) -> None:
        """Close a payment's order, so that it can no longer be paid."""
        self._ask({"close": number})

    def _ask(self, event: Mapping[str, str]) -> Mapping[str, Any]:
        with translated("the payment function"):
            answer = self._connect().invoke(
                FunctionName=self._function, Payload=json.dumps(event).encode()
            )
            told = json.loads(answer["Payload"].read())
        if "FunctionError" in answer:
            # The payment function has logged the reason. The client polls the payment's status.
            raise Unavailable("the payment function failed")
        ordered: Mapping[str, Any] = told
        return ordered
