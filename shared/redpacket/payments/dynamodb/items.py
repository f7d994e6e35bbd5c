"""Mapper for rows in PaymentsTable: payments, withdrawals, returns, refunds, statement lines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from redpacket.ledger.dynamodb import keys
from redpacket.ledger.provider_name import ProviderName
from redpacket.payments.dynamodb import keys as payment_keys
from redpacket.payments.model.payments import (
    Payment,
    PaymentRefund,
    PaymentReturn,
    PaymentStatus,
    ReturnReason,
    ReturnStatus,
)
from redpacket.payments.model.provider import (
    ExternalAccount,
    Merchant,
    PayMethod,
    RefundFound,
    StatementKind,
    StatementLine,
    Transaction,
    statement_day,
)
from redpacket.payments.model.withdrawals import ProviderAnswer, Stop, Withdrawal, WithdrawalStatus
from redpacket.platform.dynamodb.client import Value

SHARDS = range(8)
"""Shards of each work list in PaymentsTable."""


def work_list(kind: str, channel: ProviderName, subject: str) -> str:
    """Return the partition of a work list that contains *subject*."""
    return keys.work(f"{kind}-{channel}", keys.work_shard(subject) % len(SHARDS))


def payment_row(payment: Payment) -> dict[str, Value]:
    """Return the row of a pending payment, with the attributes of the work list."""
    row: dict[str, Value] = {
        **payment_keys.payment(payment.number),
        "number": payment.number,
        "user_id": payment.user_id,
        "amount_fen": payment.amount_fen,
        "channel": payment.channel,
        **merchant_row(payment.merchant),
        "pay_method": payment.method,
        "created_at_ms": payment.created_at_ms,
        "expires_at_ms": payment.expires_at_ms,
        "ordered_at_ms": payment.ordered_at_ms,
        "payment_status": payment.status,
        "reversed_fen": 0,
        "work_pk": work_list("payment", payment.channel, payment.number),
        "work_at_ms": payment.created_at_ms,
        "list_pk": payment_keys.payment_list(payment.user_id),
        "list_sk": keys.list_position(payment.created_at_ms, payment.number),
    }
    if payment.packet_id:
        row["packet_id"] = payment.packet_id
    if payment.payer:
        row |= account_row("payer", payment.payer)
    return row


def payment_of(row: dict[str, Any]) -> Payment:
    """Parse a payment's row."""
    return Payment(
        number=row["number"],
        user_id=row["user_id"],
        amount_fen=row["amount_fen"],
        channel=ProviderName(row["channel"]),
        method=PayMethod(row["pay_method"]),
        payer=account_of("payer", row, row["user_id"]) if "payer_hash" in row else None,
        created_at_ms=row["created_at_ms"],
        expires_at_ms=row["expires_at_ms"],
        packet_id=row.get("packet_id"),
        merchant=merchant_of(row),
        ordered_at_ms=row.get("ordered_at_ms", row["created_at_ms"]),
        status=PaymentStatus(row["payment_status"]),
        prompt=row.get("prompt", ""),
        closed_at_ms=row.get("closed_at_ms"),
        transaction_id=row.get("transaction_id", ""),
        credited_at_ms=row.get("credited_at_ms"),
        reversed_fen=row.get("reversed_fen", 0),
        returned_fen=row.get("returned_fen", 0),
        refunded_at_ms=row.get("refunded_at_ms"),
        is_ended=row.get("is_ended", False),
        is_listed="work_pk" in row,
    )


def return_row(returned: PaymentReturn) -> dict[str, Value]:
    """Return the row of a transaction's return, with the attributes of its list if it is open."""
    row: dict[str, Value] = {
        **payment_keys.payment_return(returned.number, returned.transaction_id),
        "amount_fen": returned.amount_fen,
        "return_reason": returned.reason,
        "channel": returned.channel,
        **merchant_row(returned.merchant),
        "noted_at_ms": returned.noted_at_ms,
        "return_status": returned.status,
        "refunded_fen": returned.refunded_fen,
    }
    if returned.status is ReturnStatus.DUE:
        row["work_pk"] = work_list("return", returned.channel, returned.number)
        row["work_at_ms"] = returned.noted_at_ms
    elif returned.status is ReturnStatus.LISTED:
        row |= listed_as(returned)
    return row


def listed_as(returned: PaymentReturn) -> dict[str, Value]:
    """Return the attributes that put a return into the operators' list."""
    name = f"{returned.number}#{returned.transaction_id}"
    return {
        "list_pk": payment_keys.LISTED_RETURNS,
        "list_sk": keys.list_position(returned.noted_at_ms, name),
    }


def return_of(row: dict[str, Any]) -> PaymentReturn:
    """Parse the row of a transaction's return."""
    return PaymentReturn(
        number=row["pk"].removeprefix(payment_keys.PAYMENT_PREFIX),
        transaction_id=row["sk"].removeprefix(payment_keys.RETURN_PREFIX),
        amount_fen=row["amount_fen"],
        reason=ReturnReason(row["return_reason"]),
        channel=ProviderName(row["channel"]),
        noted_at_ms=row["noted_at_ms"],
        status=ReturnStatus(row["return_status"]),
        refunded_fen=row.get("refunded_fen", 0),
        merchant=merchant_of(row),
        done_at_ms=row.get("done_at_ms"),
        reference=row.get("reference", ""),
        is_listed="work_pk" in row or "list_pk" in row,
    )


def refund_row(refund: PaymentRefund) -> dict[str, Value]:
    """Return the row of an outside refund; a refund that left a debt is in the operators' list."""
    row: dict[str, Value] = {
        **payment_keys.payment_refund(refund.number, refund.refund_no),
        "user_id": refund.user_id,
        "wallet_fen": refund.wallet_fen,
        "owed_fen": refund.owed_fen,
        "transaction_id": refund.transaction_id,
        "noted_at_ms": refund.noted_at_ms,
    }
    if refund.returned_fen:
        row["returned_fen"] = refund.returned_fen
    if refund.owed_fen:
        name = f"{refund.number}#{refund.refund_no}"
        row["list_pk"] = payment_keys.DEBTS
        row["list_sk"] = keys.list_position(refund.noted_at_ms, name)
    return row


def refund_of(row: dict[str, Any]) -> PaymentRefund:
    """Parse the row of an outside refund."""
    return PaymentRefund(
        number=row["pk"].removeprefix(payment_keys.PAYMENT_PREFIX),
        refund_no=row["sk"].removeprefix(payment_keys.REFUND_PREFIX),
        user_id=row["user_id"],
        wallet_fen=row["wallet_fen"],
        owed_fen=row["owed_fen"],
        noted_at_ms=row["noted_at_ms"],
        returned_fen=row.get("returned_fen", 0),
        transaction_id=row.get("transaction_id", ""),
    )


def withdrawal_row(withdrawal: Withdrawal) -> dict[str, Value]:
    """Return the row of a withdrawal whose money is held, with the work list's attributes."""
    row: dict[str, Value] = {
        **payment_keys.withdrawal(withdrawal.withdrawal_id),
        "withdrawal_id": withdrawal.withdrawal_id,
        "user_id": withdrawal.user_id,
        "amount_fen": withdrawal.amount_fen,
        "channel": withdrawal.channel,
        **merchant_row(withdrawal.merchant),
        **account_row("payee", withdrawal.payee),
        "frozen_details": withdrawal.details,
        "limit_day": withdrawal.day,
        "created_at_ms": withdrawal.created_at_ms,
        "withdrawal_status": withdrawal.status,
        "attempt_no": withdrawal.attempt_no,
        "call_count": 0,
        "lease_until_ms": 0,
        # Earlier versions wrote rows without this attribute, and reconciliation skips those rows.
        "returned_on": "",
        "work_pk": work_list("transfer", withdrawal.channel, withdrawal.withdrawal_id),
        "work_at_ms": withdrawal.created_at_ms,
        "list_pk": payment_keys.withdrawal_list(withdrawal.user_id),
        "list_sk": keys.list_position(withdrawal.created_at_ms, withdrawal.withdrawal_id),
    }
    if withdrawal.authorization_no:
        row["authorization_no"] = withdrawal.authorization_no
    return row


def withdrawal_of(row: dict[str, Any]) -> Withdrawal:
    """Parse a withdrawal's row."""
    return Withdrawal(
        withdrawal_id=row["withdrawal_id"],
        user_id=row["user_id"],
        amount_fen=row["amount_fen"],
        channel=ProviderName(row["channel"]),
        payee=account_of("payee", row, row["user_id"]),
        authorization_no=row.get("authorization_no"),
        details=row["frozen_details"],
        day=row["limit_day"],
        created_at_ms=row["created_at_ms"],
        merchant=merchant_of(row),
        status=WithdrawalStatus(row["withdrawal_status"]),
        attempt_no=row["attempt_no"],
        call_count=row["call_count"],
        lease_until_ms=row["lease_until_ms"],
        stop=Stop(row["stop_reason"]) if "stop_reason" in row else None,
        expected_at_ms=row.get("expected_at_ms", 0),
        confirmation=row.get("confirmation", ""),
        outside_no=row.get("outside_no", ""),
        reason=row.get("gateway_reason", ""),
        ended_at_ms=row.get("ended_at_ms"),
        returned_on=row.get("returned_on", ""),
        is_listed="work_pk" in row,
        next_at_ms=row.get("work_at_ms"),
        calls=_calls_of(row.get("calls", "")),
    )


def calls_text(calls: Sequence[ProviderAnswer]) -> str:
    """Return the stored form of a provider's answers."""
    return "\n".join(f"{each.at_ms} {each.answer}" for each in calls)


def _calls_of(text: str) -> tuple[ProviderAnswer, ...]:
    pairs = (line.split(" ", 1) for line in text.splitlines())
    return tuple(ProviderAnswer(int(at_ms), answer) for at_ms, answer in pairs)


def line_row(channel: ProviderName, line: StatementLine, noted_at_ms: int) -> dict[str, Value]:
    """Return the row of a line that the provider's statement must contain."""
    day = statement_day(line.moved_at_ms)
    row: dict[str, Value] = {
        **payment_keys.outside_line(channel, line.kind, day, line.number, line.outside_no),
        "bill_kind": line.kind,
        "amount_fen": line.amount_fen,
        "moved_at_ms": line.moved_at_ms,
        "noted_at_ms": noted_at_ms,
    }
    if line.of_number:
        row["of_number"] = line.of_number
    return row


def line_of(row: dict[str, Any]) -> StatementLine:
    """Parse the row of an expected statement line."""
    number, _, outside_no = row["sk"].partition("#")
    return StatementLine(
        kind=StatementKind(row["bill_kind"]),
        number=number,
        outside_no=outside_no,
        amount_fen=row["amount_fen"],
        moved_at_ms=row["moved_at_ms"],
        of_number=row.get("of_number", ""),
    )


def merchant_row(merchant: Merchant) -> dict[str, Value]:
    """Return the attributes of a merchant."""
    return {"app_id": merchant.app_id, "mch_id": merchant.mch_id}


def merchant_of(row: dict[str, Any]) -> Merchant:
    """Parse a row's merchant."""
    return Merchant(row.get("app_id", ""), row.get("mch_id", ""))


def account_row(name: str, account: ExternalAccount) -> dict[str, Value]:
    """Return the attributes of a provider account, with names prefixed by *name*."""
    return {f"{name}_sealed": account.sealed, f"{name}_hash": account.name_hash}


def account_of(name: str, row: dict[str, Any], owner: str) -> ExternalAccount:
    """Parse *owner*'s provider account, which is empty after an erasure."""
    return ExternalAccount(row.get(f"{name}_sealed", ""), row.get(f"{name}_hash", ""), owner)


def line_in(transaction: Transaction) -> StatementLine:
    """Return the expected statement line of a payment."""
    return StatementLine(
        StatementKind.PAYMENT,
        transaction.number,
        transaction.transaction_id,
        transaction.amount_fen,
        transaction.paid_at_ms,
    )


def line_back(refund: RefundFound) -> StatementLine:
    """Return the expected statement line of a refund."""
    return StatementLine(
        StatementKind.REFUND,
        refund.refund_no,
        refund.transaction_id,
        refund.amount_fen,
        refund.refunded_at_ms,
        refund.number,
    )
