"""Parameters of routes of payments and withdrawals."""

from __future__ import annotations

import re
import secrets

from redpacket.payments.errors import PaymentNotFound, WithdrawalNotFound
from redpacket.payments.ports import PAYMENTS_CURSOR
from redpacket.platform.errors import InvalidRequest
from redpacket.platform.http.parameters import optional, required

PAYMENT_ID = re.compile(r"[0-9a-f]{32}")
WITHDRAWAL_ID = re.compile(r"[0-9a-f]{30}")
_PAYMENT_ID_BYTES = 16


def new_payment_id() -> str:
    """Return a new payment's number: 128 random bits in a form that gateways accept."""
    return secrets.token_hex(_PAYMENT_ID_BYTES)


@required("path", "payment_id", type="string", pattern=f"^{PAYMENT_ID.pattern}$")
def payment_id_of(text: str) -> str:
    """The payment, as the answer to its beginning names it."""
    if not PAYMENT_ID.fullmatch(text):
        raise PaymentNotFound("no such payment")
    return text


@required("path", "withdrawal_id", type="string", pattern=f"^{WITHDRAWAL_ID.pattern}$")
def withdrawal_id_of(text: str) -> str:
    """The withdrawal, as the answer to its beginning names it."""
    if not WITHDRAWAL_ID.fullmatch(text):
        raise WithdrawalNotFound("no such withdrawal")
    return text


@optional("query", "cursor", missing=None, type="string", pattern=f"^{PAYMENTS_CURSOR}$")
def withdrawals_cursor_of(text: str) -> str:
    """`next` of the page before; without it the page is the first."""
    if not re.fullmatch(PAYMENTS_CURSOR, text):
        raise InvalidRequest([{"field": "cursor", "message": "is not a valid cursor of this list"}])
    return text
