"""Transfer of campaign money to another campaign account, once per idempotency key."""

from __future__ import annotations

from redpacket.ledger.errors import InsufficientFunds
from redpacket.ledger.model import Transfer, TransferKind, deposit_id, user_account
from redpacket.ledger.use_cases.deposit import DepositPorts, once, operator_for
from redpacket.operations.model.allowances import ApprovalNeededError
from redpacket.operations.model.operators import (
    Action,
    ActionKind,
    Operator,
    changes_between,
    user_subject,
)
from redpacket.platform.errors import InvalidRequest
from redpacket.platform.idempotency import Request
from redpacket.platform.user import User

_KIND = TransferKind.CAMPAIGN_MONEY


def move_campaign_money(
    owner: User,
    payee: User,
    reason: str,
    request: Request,
    *,
    operator: Operator | None = None,
    ports: DepositPorts,
) -> tuple[str, int]:
    """Move *owner*'s remaining campaign money; return the transfer's id and the owner's balance.

    The limit for one deposit also applies to each move. If the owner has received shares, a second
    operator must approve the exact amount. Raises Forbidden if operators credit themselves,
    InvalidRequest if *payee*'s account is not marked for campaigns, InsufficientFunds if no
    campaign money is left, IdempotencyKeyReused, Busy, ApprovalNeededError.
    """
    operator = operator_for(payee, request, operator)
    source, target = user_account(owner.user_id), user_account(payee.user_id)
    if source == target:
        raise InvalidRequest.of("user", "must be another account")

    def post() -> str:
        if operator.approved:
            amount_fen = operator.approved.amount_fen
        else:
            amount_fen = min(ports.ledger.balance_fen(source), ports.amount_fen_max)
        if amount_fen <= 0:
            raise InsufficientFunds("The account holds no campaign money.")
        transfer_id = deposit_id(operator.user_id, request.key_hash, _KIND)
        at_ms = ports.clock.now_ms()
        facts = {
            "transfer_id": transfer_id,
            "amount_fen": amount_fen,
            "from": owner.user_id,
            "to": payee.user_id,
            "reason": reason,
        }
        changes, subject = changes_between(None, facts), user_subject(owner.user_id)
        # Count the move toward the payee's deposit allowance, so that moves can't bypass its limit.
        counted = user_subject(payee.user_id)
        # Check for shares after reading the balance: the amount excludes shares that arrive later.
        if not operator.approved and ports.deposits.has_received(source):
            raise ApprovalNeededError(counted, amount_fen, 0, changes)
        spent = ports.approval_policy.spend(operator, counted, amount_fen, changes=changes)
        transfer = Transfer(transfer_id, _KIND, source, target, amount_fen, at_ms)
        kind, is_approved = ActionKind.CAMPAIGN_MONEY_MOVED, operator.approved is not None
        action = Action(operator.person, kind, subject, at_ms, changes, is_approved=is_approved)
        ports.deposits.deposit(transfer, request, payee, action, spent)
        return transfer_id

    return once(_KIND, request, post, ports), ports.ledger.balance_fen(source)
