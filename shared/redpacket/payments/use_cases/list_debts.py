"""List of debts: outside refunds that exceeded the user's balance."""

from __future__ import annotations

from typing import TYPE_CHECKING

from redpacket.ledger.model import receivable_account
from redpacket.packets.ports import Ledger
from redpacket.payments.model.payments import PaymentRefund

if TYPE_CHECKING:
    from redpacket.payments.dynamodb.lists import DynamoPaymentLists


def list_debts(
    cursor: str | None, limit: int, *, lists: DynamoPaymentLists, ledger: Ledger
) -> tuple[list[tuple[PaymentRefund, int]], str | None]:
    """Return a page of refunds of indebted users, each with the user's total debt in fen.

    A page may be short or empty without being the last. Raises InvalidRequest, Unavailable.
    """
    refunds, more = lists.list_debts(cursor, limit)
    debts_fen = {
        user_id: -ledger.balance_fen(receivable_account(user_id))
        for user_id in dict.fromkeys(refund.user_id for refund in refunds)
    }
    return [
        (refund, debts_fen[refund.user_id]) for refund in refunds if debts_fen[refund.user_id] > 0
    ], more
