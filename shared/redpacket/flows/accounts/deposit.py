"""Deposit: an operator puts money into another user's account, once per idempotency key."""

from __future__ import annotations

import hashlib

from redpacket.domain.errors import Forbidden, InvalidRequest
from redpacket.domain.ledger import DEPOSITS, Transfer, TransferKind, user_account
from redpacket.domain.operators import Action, ActionKind, changes_between, user_subject
from redpacket.domain.packet import Person
from redpacket.ports.accounts import Deposits, Ledger, Request
from redpacket.ports.runtime import Clock


def deposit(
    payee: Person,
    amount_fen: int,
    request: Request,
    *,
    amount_fen_max: int,
    deposits: Deposits,
    ledger: Ledger,
    clock: Clock,
) -> tuple[str, int]:
    """Return the transfer's id and the user's balance now.

    Raises Forbidden where operators credit themselves, InvalidRequest above *amount_fen_max*, but
    not for a repeat (I10): the cap may have been lowered since. Raises IdempotencyKeyReused, Busy.
    """
    if payee.user_id == request.user_id:
        raise Forbidden("you can't credit yourself: another operator must")
    if amount_fen > amount_fen_max and not deposits.find_deposited(request):
        raise InvalidRequest([{"field": "amount_fen", "message": f"is above {amount_fen_max}"}])
    account = user_account(payee.user_id)
    named = f"{request.user_id}\n{request.key_hash}".encode()
    transfer = Transfer(
        transfer_id=f"deposit:{hashlib.sha256(named).hexdigest()[:32]}",
        kind=TransferKind.DEPOSIT,
        debit=DEPOSITS,
        credit=account,
        amount_fen=amount_fen,
        at_ms=clock.now_ms(),
    )
    action = Action(
        request.user_id,
        ActionKind.DEPOSIT,
        user_subject(payee.user_id),
        transfer.at_ms,
        changes_between(
            None, {"transfer_id": transfer.transfer_id, "amount_fen": transfer.amount_fen}
        ),
    )
    deposits.deposit(transfer, request, payee, action)
    return transfer.transfer_id, ledger.balance_fen(account)
