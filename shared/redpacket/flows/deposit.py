"""Deposit: an operator puts money into a user's account, once per idempotency key."""

from __future__ import annotations

import hashlib

from redpacket.domain.ledger import DEPOSITS, Transfer, TransferKind, user_account
from redpacket.ports import Clock, Ledger, Request


def deposit(
    user_id: str, amount_fen: int, request: Request, *, ledger: Ledger, clock: Clock
) -> tuple[str, int]:
    """Return the transfer's id and the user's balance now. Raises IdempotencyKeyReused, Busy."""
    named = f"{request.user_id}\n{request.key_hash}".encode()
    transfer = Transfer(
        transfer_id=f"deposit:{hashlib.sha256(named).hexdigest()[:32]}",
        kind=TransferKind.DEPOSIT,
        debit=DEPOSITS,
        credit=user_account(user_id),
        amount_fen=amount_fen,
        at_ms=clock.now_ms(),
    )
    ledger.deposit(transfer, request)
    return transfer.transfer_id, ledger.balance_fen(user_account(user_id))
