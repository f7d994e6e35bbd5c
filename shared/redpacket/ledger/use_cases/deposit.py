"""Deposit: an operator credits another user's account, once per idempotency key."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from redpacket.ledger.model import (
    CASES,
    DEPOSITS,
    Transfer,
    TransferKind,
    deposit_id,
    user_account,
)
from redpacket.ledger.ports import Balances
from redpacket.operations.errors import AllowanceMoved
from redpacket.operations.model.allowances import ApprovalNeededError
from redpacket.operations.model.operators import (
    Action,
    ActionKind,
    Operator,
    changes_between,
    user_subject,
)
from redpacket.operations.use_cases.approval_policy import ApprovalPolicy
from redpacket.platform.errors import Contended, Forbidden, InvalidRequest
from redpacket.platform.idempotency import Request, hash_of_key
from redpacket.platform.runtime import Clock
from redpacket.platform.user import User

if TYPE_CHECKING:
    from redpacket.ledger.dynamodb.deposits import DynamoDeposits

_TRIES = 8


@dataclass(frozen=True, slots=True)
class DepositPorts:
    """Dependencies of deposits, and the limit for one deposit."""

    amount_fen_max: int
    deposits: DynamoDeposits
    ledger: Balances
    approval_policy: ApprovalPolicy
    clock: Clock
    fix_unit: Callable[[], None]


def deposit(
    payee: User,
    amount_fen: int,
    request: Request,
    *,
    case: str | None = None,
    is_for_campaigns: bool = False,
    operator: Operator | None = None,
    ports: DepositPorts,
) -> tuple[str, int]:
    """Deposit money; return the transfer's id and the user's current balance in fen.

    A *case* has only one deposit: later requests by any operator return the first deposit's id.
    After a deposit that *is_for_campaigns*, the account pays only for campaigns. The first such
    deposit reserves an unused account, so it needs an approval regardless of its amount. Raises
    InvalidRequest if the account was used for other money, Forbidden if operators credit
    themselves, IdempotencyKeyReused, Busy. Above the limits, a first request raises InvalidRequest
    or ApprovalNeededError, but a retry does not (I10).
    """
    operator = operator_for(payee, request, operator)
    account, own_request = user_account(payee.user_id), request
    if case:
        # Refuse an idempotency key that was used with another body.
        ports.deposits.find_posted(TransferKind.DEPOSIT, own_request)
        facts_of_case = f"{payee.user_id}\n{amount_fen}\n{is_for_campaigns}"
        request = Request(CASES, hash_of_key(case), hash_of_key(facts_of_case))

    def post() -> str:
        if amount_fen > ports.amount_fen_max:
            message = f"must be at most {ports.amount_fen_max}. Split the deposit"
            raise InvalidRequest.of("amount_fen", message)
        ports.fix_unit()
        transfer = _transfer(account, amount_fen, request, ports.clock)
        subject = user_subject(payee.user_id)
        facts = {"transfer_id": transfer.transfer_id, "amount_fen": amount_fen}
        if is_for_campaigns:
            facts["is_for_campaigns"] = True
        if case:
            facts["case"] = case
        changes = changes_between(None, facts)
        if is_for_campaigns and not operator.approved and ports.deposits.is_new(account):
            raise ApprovalNeededError(subject, amount_fen, 0, changes)
        spent = ports.approval_policy.spend(operator, subject, amount_fen, changes=changes)
        kind, is_approved = ActionKind.DEPOSIT, operator.approved is not None
        action = Action(
            operator.person, kind, subject, transfer.at_ms, changes, is_approved=is_approved
        )
        if case:
            ports.deposits.bind(own_request, transfer.transfer_id)
        ports.deposits.deposit(
            transfer, request, payee, action, spent, is_for_campaigns=is_for_campaigns
        )
        return transfer.transfer_id

    transfer_id = once(TransferKind.DEPOSIT, request, post, ports)
    return transfer_id, ports.ledger.balance_fen(account)


def operator_for(payee: User, request: Request, operator: Operator | None) -> Operator:
    """Return the operator of *request*. Raises Forbidden if operators credit themselves."""
    assert operator is None or operator.user_id == request.user_id
    if payee.user_id == request.user_id:
        raise Forbidden("You can't credit your own account. Ask another operator.")
    return operator or Operator(User(request.user_id))


def once(kind: TransferKind, request: Request, post: Callable[[], str], ports: DepositPorts) -> str:
    """Return the id of the request's transfer; call *post* unless an earlier call posted it."""
    for _ in range(_TRIES):
        if transfer_id := ports.deposits.find_posted(kind, request):
            return transfer_id
        try:
            return post()
        except AllowanceMoved:
            continue
    raise Contended


def _transfer(account: str, amount_fen: int, request: Request, clock: Clock) -> Transfer:
    return Transfer(
        transfer_id=deposit_id(request.user_id, request.key_hash),
        kind=TransferKind.DEPOSIT,
        debit=DEPOSITS,
        credit=account,
        amount_fen=amount_fen,
        at_ms=clock.now_ms(),
    )
