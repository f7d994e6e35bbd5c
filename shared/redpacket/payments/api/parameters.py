"""Route parameters for payments and withdrawals."""

from __future__ import annotations

import re

from redpacket.packets.api.packet_ids import PAYMENT_ID
from redpacket.payments.errors import PaymentNotFound, WithdrawalNotFound
from redpacket.payments.model.withdrawals import WithdrawalStatus
from redpacket.payments.ports import PAYMENTS_CURSOR, PENDING_CURSOR
from redpacket.platform.http.parameters import choice, cursor, of_form, optional, path_id
from redpacket.platform.http.request import person_of
from redpacket.platform.user import HOST_ID

WITHDRAWAL_ID = re.compile(r"[0-9a-f]{30}")

payment_id_of = path_id(
    *("payment_id", PAYMENT_ID.pattern, PaymentNotFound),
    meaning="Payment ID from the response that created the payment.",
)
withdrawal_id_of = path_id(
    *("withdrawal_id", WITHDRAWAL_ID.pattern, WithdrawalNotFound),
    meaning="Withdrawal ID from the response that created the withdrawal.",
)
withdrawals_cursor_of = cursor(
    PAYMENTS_CURSOR, "`next` from the previous page; omit it for the first page."
)
any_withdrawals_cursor_of = cursor(
    f"({PAYMENTS_CURSOR}|{PENDING_CURSOR})", "`next` from the previous page with the same user."
)
withdrawal_status_of = choice(
    "status", WithdrawalStatus, "Only withdrawals with this status; a final status requires `user`."
)


@optional("query", "user", missing=None, type="string", pattern=f"^{HOST_ID.pattern}$")
def withdrawer_of(text: str) -> str:
    """Only withdrawals by the user with this host id."""
    return person_of(of_form("user", HOST_ID.pattern, text)).user_id
