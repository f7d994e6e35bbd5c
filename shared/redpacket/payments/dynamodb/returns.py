"""Repository of returned transactions and outside refunds, in PaymentsTable."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from redpacket.ledger.dynamodb.books import entry_row
from redpacket.ledger.dynamodb.posting import change_balance, post_operations
from redpacket.ledger.dynamodb.requests import close_case
from redpacket.ledger.model import Transfer, TransferKind, entries, receivable_account, user_account
from redpacket.ledger.provider_name import ProviderName
from redpacket.operations.dynamodb.allowances import spend_allowance
from redpacket.operations.dynamodb.audit_log import note_action
from redpacket.operations.model.allowances import Allowance
from redpacket.operations.model.operators import Action
from redpacket.payments.dynamodb import keys as payment_keys
from redpacket.payments.dynamodb.items import (
    line_back,
    line_in,
    line_row,
    listed_as,
    refund_of,
    refund_row,
    return_of,
    return_row,
)
from redpacket.payments.dynamodb.lists import oldest
from redpacket.payments.model.payments import (
    Payment,
    PaymentRefund,
    PaymentReturn,
    ReturnReason,
    ReturnStatus,
    refund_transfers,
)
from redpacket.payments.model.provider import RefundFound, Transaction
from redpacket.platform.dynamodb.client import Dynamo, Value, check, put, update, values
from redpacket.platform.errors import InvariantViolated

IS_NOT_CREDITED_BY_IT = (
    # The condition also holds for an uncredited payment.
    "attribute_exists(pk) AND attribute_not_exists(transaction_id)"
    " OR attribute_exists(pk) AND transaction_id <> :transaction_id"
)
IS_DUE_BACK = "return_status = :due"
IS_REFUNDED_AS_SEEN = "return_status = :seen AND refunded_fen = :seen_fen"
IS_REVERSED_AS_SEEN = "attribute_exists(transaction_id) AND reversed_fen = :seen_fen"


class DynamoReturns:
    """Repository of uncredited transactions and of outside refunds. `list_returns_due` may lag."""

    def __init__(self, dynamo: Dynamo) -> None:
        self._dynamo = dynamo
        self._payments = dynamo.tables.payments
        self._accounts = dynamo.tables.accounts
        self._audit_table = dynamo.tables.journal

    def put_return(self, returned: PaymentReturn, transaction: Transaction) -> PaymentReturn:
        """Record *transaction* as returned, once. Raises InvariantViolated if it was credited."""
        operations = [
            put(self._payments, return_row(returned)),
            check(
                self._payments,
                payment_keys.payment(returned.number),
                IS_NOT_CREDITED_BY_IT,
                transaction_id=returned.transaction_id,
            ),
        ]
        if returned.reason is not ReturnReason.MISMATCHED:
            line = line_row(returned.channel, line_in(transaction), returned.noted_at_ms)
            operations.append(put(self._payments, line))
        if self._dynamo.try_transact(operations):
            return returned
        before = self.find_return(returned.number, returned.transaction_id)
        if before is None:
            raise InvariantViolated(
                f"transaction {returned.transaction_id} was credited and cannot be returned"
            )
        return before

    def list_returns(self, number: str) -> list[PaymentReturn]:
        """Return all uncredited transactions of a payment."""
        return [return_of(row) for row in self._beside(number, payment_keys.RETURN_PREFIX)]

    def list_returns_due(
        self, channel: ProviderName, until_ms: int, limit: int
    ) -> list[tuple[str, str]]:
        """Return the payment number and transaction id of each pending return, oldest first."""
        rows = oldest(self._dynamo, self._payments, f"return-{channel}", until_ms, limit)
        return [
            (
                row["pk"].removeprefix(payment_keys.PAYMENT_PREFIX),
                row["sk"].removeprefix(payment_keys.RETURN_PREFIX),
            )
            for row in rows
        ]

    def find_return(self, number: str, transaction_id: str) -> PaymentReturn | None:
        """Return a transaction's recorded return."""
        row = self._dynamo.get(self._payments, payment_keys.payment_return(number, transaction_id))
        return return_of(row) if row else None

    def delay_return(self, returned: PaymentReturn, at_ms: int) -> None:
        """Reschedule a return in `list_returns_due`."""
        self._dynamo.update(
            self._payments,
            payment_keys.payment_return(returned.number, returned.transaction_id),
            "SET work_at_ms = :at_ms",
            condition=IS_DUE_BACK,
            at_ms=at_ms,
            due=ReturnStatus.DUE,
        )

    def end_return(self, returned: PaymentReturn, refund: RefundFound, now_ms: int) -> bool:
        """Record a completed return; return False if the return is no longer DUE."""
        done = update(
            self._payments,
            payment_keys.payment_return(returned.number, returned.transaction_id),
            "SET return_status = :done, done_at_ms = :now_ms REMOVE work_pk, work_at_ms",
            condition=IS_DUE_BACK,
            done=ReturnStatus.DONE,
            due=ReturnStatus.DUE,
            now_ms=now_ms,
        )
        added = update(
            self._payments,
            payment_keys.payment(returned.number),
            "ADD returned_fen :fen SET refunded_at_ms = :now_ms",
            fen=returned.amount_fen,
            now_ms=now_ms,
        )
        line = put(self._payments, line_row(returned.channel, line_back(refund), now_ms))
        return self._dynamo.try_transact([done, added, line])

    def list_return(self, returned: PaymentReturn) -> None:
        """Move a DUE return to the operators' list."""
        self._dynamo.update(
            self._payments,
            payment_keys.payment_return(returned.number, returned.transaction_id),
            "SET return_status = :listed, list_pk = :list_pk, list_sk = :list_sk"
            " REMOVE work_pk, work_at_ms",
            condition=IS_DUE_BACK,
            **listed_as(returned),
            listed=ReturnStatus.LISTED,
            due=ReturnStatus.DUE,
        )

    def resolve(
        self,
        returned: PaymentReturn,
        action: Action,
        spent: Allowance | None,
        *,
        is_outside: bool,
    ) -> bool:
        """Set a LISTED return to RESOLVED with its reference, log the action, and store *spent*.

        An outside transfer and a deposit for the transaction exclude each other. Return False,
        without effect, if the return or the allowance has changed, if the reference was used
        before, or if the transaction of an outside transfer already has a deposit.
        """
        resolved = update(
            self._payments,
            payment_keys.payment_return(returned.number, returned.transaction_id),
            "SET return_status = :status, #reference = :reference REMOVE list_pk, list_sk",
            condition=IS_REFUNDED_AS_SEEN,
            status=ReturnStatus.RESOLVED,
            reference=returned.reference,
            seen=ReturnStatus.LISTED,
            seen_fen=returned.refunded_fen,
        )
        used = put(self._payments, dict(payment_keys.resolution(returned.reference)))
        closed = close_case(self._dynamo, returned.transaction_id, returned.reference)
        return self._dynamo.try_transact(
            [
                *(resolved, used, *note_action(self._audit_table, action)),
                *(closed if is_outside else ()),
                *spend_allowance(self._dynamo.tables.approvals, spent),
            ]
        )

    def note_outside(
        self, returned: PaymentReturn, refund: PaymentRefund, answer: RefundFound
    ) -> bool:
        """Record an outside refund of an uncredited transaction, once per refund number.

        The remainder waits for an operator. Return False if the refund is already recorded or the
        return has changed; the caller must then read again.
        """
        fen = returned.refunded_fen + refund.returned_fen
        is_whole = fen >= returned.amount_fen
        kept: dict[str, Value] = {} if is_whole else listed_as(returned)
        noted = update(
            self._payments,
            payment_keys.payment_return(returned.number, returned.transaction_id),
            "SET refunded_fen = :fen, return_status = :status"
            + ("" if is_whole else ", list_pk = :list_pk, list_sk = :list_sk")
            + " REMOVE work_pk, work_at_ms"
            + (", list_pk, list_sk" if is_whole else ""),
            condition=IS_REFUNDED_AS_SEEN,
            **kept,
            fen=fen,
            status=ReturnStatus.REFUNDED if is_whole else ReturnStatus.LISTED,
            seen=returned.status,
            seen_fen=returned.refunded_fen,
        )
        added = update(
            self._payments,
            payment_keys.payment(returned.number),
            "ADD returned_fen :fen SET refunded_at_ms = :now_ms",
            fen=refund.returned_fen,
            now_ms=refund.noted_at_ms,
        )
        line = put(
            self._payments, line_row(returned.channel, line_back(answer), refund.noted_at_ms)
        )
        return self._dynamo.try_transact(
            [put(self._payments, refund_row(refund)), noted, added, line]
        )

    def list_refunds(self, number: str) -> list[PaymentRefund]:
        """Return the outside refunds of a payment."""
        return [refund_of(row) for row in self._beside(number, payment_keys.REFUND_PREFIX)]

    def reverse(self, payment: Payment, refund: PaymentRefund, answer: RefundFound) -> bool:
        """Debit an outside refund to the user's account and receivable, once per refund number.

        Return False if the refund is already recorded, the balance no longer covers *wallet_fen*,
        or the payment has changed; the caller must then read again.
        """
        taken = update(
            self._payments,
            payment_keys.payment(payment.number),
            "SET reversed_fen = :fen, refunded_at_ms = :now_ms",
            condition=IS_REVERSED_AS_SEEN,
            seen_fen=payment.reversed_fen,
            fen=payment.reversed_fen + refund.reversed_fen,
            now_ms=refund.noted_at_ms,
        )
        noted = put(self._payments, refund_row(refund))
        line = put(self._payments, line_row(payment.channel, line_back(answer), refund.noted_at_ms))
        return self._dynamo.try_transact(
            [noted, taken, line, *post_operations(self._accounts, refund_transfers(refund))]
        )

    def collect(self, user_id: str, fen: int, at_ms: int, name: str) -> bool:
        """Collect *fen* of a user's debt; return False if the debt or the balance is smaller."""
        owed, own = receivable_account(user_id), user_account(user_id)
        kind = TransferKind.PAYMENT_REFUNDED
        transfer = Transfer(f"collected:{user_id}:{name}", kind, own, owed, fen, at_ms)
        written = [put(self._accounts, entry_row(entry)) for entry in entries(transfer)]
        paid = change_balance(self._accounts, own, [transfer])
        settled = change_balance(self._accounts, owed, [transfer], at_most_fen=-fen)
        return self._dynamo.try_transact([*written, paid, settled])

    def _beside(self, number: str, prefix: str) -> Iterator[dict[str, Any]]:
        return self._dynamo.query(
            self._payments,
            KeyConditionExpression="pk = :pk AND begins_with(sk, :prefix)",
            ExpressionAttributeValues=values(pk=payment_keys.payment(number)["pk"], prefix=prefix),
            ConsistentRead=True,
        )
