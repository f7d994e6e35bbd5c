"""Return of uncredited transactions, and reversal of credits after outside refunds.

A refund number derives from its transaction, so a retry makes no second refund. An outside refund
is debited to the user's balance, which stays at least zero; the rest becomes the user's debt. If a
refund precedes the credit, it is recorded with the transaction, which is then not credited.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from redpacket.ledger.model import (
    CASES,
    TransferKind,
    deposit_id,
    receivable_account,
    user_account,
)
from redpacket.ledger.provider_name import ProviderName
from redpacket.operations.model.operators import (
    Action,
    ActionKind,
    Operator,
    changes_between,
    user_subject,
)
from redpacket.payments.errors import PaymentNotFound
from redpacket.payments.model.payments import (
    Payment,
    PaymentRefund,
    PaymentReturn,
    Resolution,
    ResolvedBy,
    ReturnStatus,
)
from redpacket.payments.model.provider import RefundFound, RefundState
from redpacket.payments.use_cases.confirm_payment import confirm_payment
from redpacket.payments.use_cases.dependencies import PaymentPorts
from redpacket.platform.errors import (
    Contended,
    InvalidRequest,
    InvariantViolated,
    VersionConflict,
)
from redpacket.platform.idempotency import hash_of_key

if TYPE_CHECKING:
    from redpacket.operations.use_cases.approval_policy import ApprovalPolicy
    from redpacket.packets.ports import Ledger
    from redpacket.payments.dynamodb.lists import DynamoPaymentLists

RETURN_PAUSE_MS = 60_000

_ADVICE = "Deposit it with the transaction_id as its case: the deposit waits for approval."

_TRIES = 6

_ENTRIES_AT_ONCE = 100


def return_payment(number: str, transaction_id: str, *, ports: PaymentPorts) -> None:
    """Refund a transaction whose return is due; list it if it was credited. Raises Unavailable."""
    returned = ports.returns.find_return(number, transaction_id)
    if returned is None or returned.status is not ReturnStatus.DUE:
        return
    payment = ports.repository.find(number)
    if payment and payment.transaction_id == transaction_id:
        error = InvariantViolated(f"transaction {transaction_id} of {number} was credited")
        ports.logger.failure("return_of_credited", error, number=number)
        ports.returns.list_return(returned)
        return
    # Reschedule first, so that a failed call or a crash does not block the other rows.
    ports.returns.delay_return(returned, ports.clock.now_ms() + RETURN_PAUSE_MS)
    provider = ports.provider_of(returned)
    taken = provider.query_transaction(transaction_id)
    # A provider may refund by transaction id and ignore our number, so check that they match.
    if taken is None or (taken.number, taken.amount_fen) != (number, returned.amount_fen):
        raise InvariantViolated(f"transaction {transaction_id} is not a payment of {number}")
    refund = provider.refund(returned.order)
    _end(returned, refund, ports)


def resolve_return(
    resolution: Resolution, operator: Operator, *, policy: ApprovalPolicy, ports: PaymentPorts
) -> PaymentReturn:
    """Resolve a listed return by a deposit that credited the user or by an outside transfer.

    The deposit's case is the return's transaction, so operators can make only one deposit. An
    outside transfer, which the system cannot verify, counts toward the operator's limit. Raises
    PaymentNotFound, VersionConflict, InvalidRequest, Forbidden.
    """
    payment = ports.repository.find(resolution.number)
    returned = ports.returns.find_return(resolution.number, resolution.transaction_id)
    if payment is None or returned is None:
        raise PaymentNotFound("This return does not exist.")
    is_deposit = resolution.by is ResolvedBy.DEPOSIT
    reference = resolution.reference
    if is_deposit:
        reference = deposit_id(CASES, hash_of_key(returned.transaction_id))
    if returned.reference == reference:
        return returned
    if returned.status is not ReturnStatus.LISTED:
        raise VersionConflict(f"This return is {returned.status}, not listed. Reload the list.")
    if is_deposit and not _is_deposited(payment, returned, reference, ports):
        message = (
            f"needs a deposit of {returned.left_fen} fen to this user whose case is the"
            " transaction_id. Make it first"
        )
        raise InvalidRequest.of("by", message)
    subject, spent = user_subject(payment.user_id), None
    if not is_deposit:
        spent = policy.spend_alone(operator, returned.left_fen, _ADVICE, subject)
    facts = {
        "payment_id": returned.number,
        "transaction_id": returned.transaction_id,
        "amount_fen": returned.left_fen,
        "by": resolution.by,
        "reference": reference,
        "reason": resolution.reason,
    }
    action = Action(
        operator.person,
        ActionKind.RETURN_RESOLVED,
        subject,
        ports.clock.now_ms(),
        changes_between(None, facts),
    )
    resolved = replace(returned, reference=reference)
    if not ports.returns.resolve(resolved, action, spent, is_outside=not is_deposit):
        message = "The return has changed, its case has a deposit, or the reference was used."
        raise VersionConflict(f"{message} Reload.")
    return replace(resolved, status=ReturnStatus.RESOLVED)


def _is_deposited(
    payment: Payment,
    returned: PaymentReturn,
    transfer_id: str,
    ports: PaymentPorts,
) -> bool:
    cursor: str | None = None
    while True:
        entries, cursor = ports.ledger.list_entries(
            user_account(payment.user_id), cursor, _ENTRIES_AT_ONCE
        )
        for entry in entries:
            if entry.transfer_id == transfer_id:
                is_whole = entry.amount_fen == returned.left_fen
                is_later = entry.at_ms >= returned.noted_at_ms
                return is_whole and is_later and entry.kind is TransferKind.DEPOSIT
        if cursor is None or entries[-1].position_ms < returned.noted_at_ms:
            return False


def note_refund(channel: ProviderName, refund_no: str, *, ports: PaymentPorts) -> None:
    """Update the ledger for a refund named by a callback or statement. Raises Unavailable."""
    refund = ports.provider(channel).query_refund(refund_no)
    if refund.state is not RefundState.SUCCEEDED:
        return
    payment = ports.repository.find(refund.number)
    if payment is None or payment.channel is not channel:
        error = InvariantViolated(f"refund {refund_no} belongs to no payment of ours")
        ports.logger.failure("refund_unknown", error, refund_no=refund_no)
        return
    ports.provider_of(payment)
    returns = {
        returned.refund_no: returned for returned in ports.returns.list_returns(payment.number)
    }
    ours = returns.get(refund_no)
    # A restore may have lost our refund's row. The refund then counts as an outside refund.
    if ours and ours.status is not ReturnStatus.LISTED:
        if ours.status is ReturnStatus.DUE:
            _end(ours, refund, ports)
        return
    if payment.transaction_id != refund.transaction_id:
        # If the transaction is unknown, this call lists it for operators, because it is refunded.
        payment = confirm_payment(payment.number, refund.transaction_id, ports=ports)
    _reverse(payment, refund, ports)


def collect_owed(user_id: str, *, ports: PaymentPorts) -> int:
    """Collect a user's debt from the balance; return the remaining debt in fen."""
    for _ in range(_TRIES):
        owed_fen = -ports.ledger.balance_fen(receivable_account(user_id))
        if owed_fen <= 0:
            return 0
        fen = min(owed_fen, ports.ledger.balance_fen(user_account(user_id)))
        if fen <= 0:
            return owed_fen
        now_ms = ports.clock.now_ms()
        if ports.returns.collect(user_id, fen, now_ms, ports.new_number()):
            ports.logger.event("debt_collected")
    raise Contended


def list_debts(
    cursor: str | None, limit: int, *, lists: DynamoPaymentLists, ledger: Ledger
) -> tuple[list[tuple[PaymentRefund, int]], str | None]:
    """Return a page of refunds that left a debt, each with the user's total debt in fen.

    Refunds of users without debt are left out, so a page may be short or empty even if more pages
    follow. Raises InvalidRequest, Unavailable.
    """
    refunds, more = lists.list_debts(cursor, limit)
    debts_fen = {
        user_id: -ledger.balance_fen(receivable_account(user_id))
        for user_id in dict.fromkeys(refund.user_id for refund in refunds)
    }
    return [
        (refund, debts_fen[refund.user_id]) for refund in refunds if debts_fen[refund.user_id] > 0
    ], more


def _end(returned: PaymentReturn, refund: RefundFound, ports: PaymentPorts) -> None:
    _check_same(returned, refund)
    if refund.state is RefundState.SUCCEEDED:
        ports.returns.end_return(returned, refund, ports.clock.now_ms())
    elif refund.state is RefundState.FAILED:
        # This number cannot succeed, and a new one might pay twice, so an operator decides.
        error = InvariantViolated(f"refund {returned.refund_no} of {returned.number} has failed")
        ports.logger.failure("refund_by_gateway_failed", error, number=returned.number)
        ports.returns.list_return(returned)


def _check_same(returned: PaymentReturn, refund: RefundFound) -> None:
    of = refund.number, refund.transaction_id, refund.amount_fen
    ours = returned.number, returned.transaction_id, returned.amount_fen
    if refund.state is RefundState.SUCCEEDED and of != ours:
        raise InvariantViolated(f"refund {returned.refund_no} is {of} at the provider")


def _reverse(payment: Payment, answer: RefundFound, ports: PaymentPorts) -> None:
    for _ in range(_TRIES):
        for noted in ports.returns.list_refunds(payment.number):
            if noted.refund_no == answer.refund_no:
                if noted.transaction_id not in {"", answer.transaction_id}:
                    raise InvariantViolated(f"refund {noted.refund_no} has another transaction")
                return
        is_credited = payment.transaction_id == answer.transaction_id != ""
        returned = ports.returns.find_return(payment.number, answer.transaction_id)
        if returned and not is_credited:
            if _note_outside(payment, returned, answer, ports):
                return
            continue
        left_fen = payment.amount_fen - payment.reversed_fen
        if not is_credited or not 0 < answer.amount_fen <= left_fen:
            raise InvariantViolated(
                f"refund {answer.refund_no} does not fit the credit of payment {payment.number}"
            )
        has_fen = ports.ledger.balance_fen(user_account(payment.user_id))
        wallet_fen = min(max(has_fen, 0), answer.amount_fen)
        refund = PaymentRefund(
            number=payment.number,
            refund_no=answer.refund_no,
            user_id=payment.user_id,
            wallet_fen=wallet_fen,
            owed_fen=answer.amount_fen - wallet_fen,
            noted_at_ms=ports.clock.now_ms(),
            transaction_id=answer.transaction_id,
        )
        if ports.returns.reverse(payment, refund, answer):
            ports.logger.event("payment_refunded_outside", number=payment.number)
            return
        payment = ports.repository.find(payment.number) or payment
    raise Contended


def _note_outside(
    payment: Payment, returned: PaymentReturn, answer: RefundFound, ports: PaymentPorts
) -> bool:
    left_fen = returned.left_fen
    if not 0 < answer.amount_fen <= left_fen:
        raise InvariantViolated(
            f"refund {answer.refund_no} exceeds the remainder of {answer.transaction_id}"
        )
    refund = PaymentRefund(
        number=payment.number,
        refund_no=answer.refund_no,
        user_id=payment.user_id,
        wallet_fen=0,
        owed_fen=0,
        noted_at_ms=ports.clock.now_ms(),
        returned_fen=answer.amount_fen,
        transaction_id=answer.transaction_id,
    )
    is_noted = ports.returns.note_outside(returned, refund, answer)
    if is_noted and returned.status is ReturnStatus.DUE and answer.amount_fen < left_fen:
        # Our refund is for the full amount, so it can no longer succeed.
        error = InvariantViolated(f"{answer.transaction_id} was refunded in part at the provider")
        ports.logger.failure("refund_by_gateway_failed", error, number=payment.number)
    return is_noted
