"""Route parameters of payments and withdrawals."""

from __future__ import annotations

import re

from redpacket.packets.api.packet_ids import PAYMENT_ID
from redpacket.payments.errors import PaymentNotFound, WithdrawalNotFound
from redpacket.payments.model.withdrawals import WithdrawalStatus
from redpacket.payments.ports import PAYMENTS_CURSOR, PENDING_CURSOR
from redpacket.platform.errors import InvalidRequest, invalid_cursor
from redpacket.platform.http.parameters import optional, required
from redpacket.platform.http.request import person_of
from redpacket.platform.user_id import HOST_ID

WITHDRAWAL_ID = re.compile(r"[0-9a-f]{30}")


@required("path", "payment_id", type="string", pattern=f"^{PAYMENT_ID.pattern}$")
def payment_id_of(text: str) -> str:
    """Payment ID from the response that created the payment."""
    if not PAYMENT_ID.fullmatch(text):
        raise PaymentNotFound
    return text


@required("path", "withdrawal_id", type="string", pattern=f"^{WITHDRAWAL_ID.pattern}$")
def withdrawal_id_of(text: str) -> str:
    """Withdrawal ID from the response that created the withdrawal."""
    if not WITHDRAWAL_ID.fullmatch(text):
        raise WithdrawalNotFound
    return text


@optional("query", "cursor", missing=None, type="string", pattern=f"^{PAYMENTS_CURSOR}$")
def withdrawals_cursor_of(text: str) -> str:
    """`next` of the previous page; omit it for the first page."""
    if not re.fullmatch(PAYMENTS_CURSOR, text):
        raise invalid_cursor()
    return text


_ANY_CURSOR = f"{PAYMENTS_CURSOR}|{PENDING_CURSOR}"


@optional("query", "cursor", missing=None, type="string", pattern=f"^({_ANY_CURSOR})$")
def any_withdrawals_cursor_of(text: str) -> str:
    """`next` of the previous page, by the same user."""
    if not re.fullmatch(_ANY_CURSOR, text, re.ASCII):
        raise invalid_cursor()
    return text


@optional("query", "user", missing=None, type="string", pattern=f"^{HOST_ID.pattern}$")
def withdrawer_of(text: str) -> str:
    """Only withdrawals of this user, by the host's own id."""
    if not HOST_ID.fullmatch(text):
        raise InvalidRequest.of("user", f"must match {HOST_ID.pattern}")
    return person_of(text).user_id


@optional("query", "status", missing=None, type="string", enum=list(WithdrawalStatus))
def withdrawal_status_of(text: str) -> WithdrawalStatus:
    """Only withdrawals of this status; one that has ended needs `user`."""
    if text not in list(WithdrawalStatus):
        raise InvalidRequest.of("status", f"must be one of: {', '.join(WithdrawalStatus)}")
    return WithdrawalStatus(text)
