"""Repository of withdrawals in PaymentsTable."""

from __future__ import annotations

from redpacket.ledger.dynamodb.keys import work
from redpacket.ledger.dynamodb.posting import exists, find_posted_at_ms, post, post_operations
from redpacket.ledger.dynamodb.requests import close_case, find_result, transact_request
from redpacket.ledger.provider_name import ProviderName
from redpacket.payments.dynamodb import keys as payment_keys
from redpacket.payments.dynamodb.items import (
    SHARDS,
    calls_text,
    line_row,
    withdrawal_of,
    withdrawal_row,
    work_list,
)
from redpacket.payments.dynamodb.lists import oldest
from redpacket.payments.errors import WithdrawalLimitReached
from redpacket.payments.model.provider import StatementKind, StatementLine, TransferFound
from redpacket.payments.model.withdrawals import (
    CALLS_KEPT,
    CANCELS,
    ProviderAnswer,
    Stop,
    Withdrawal,
    WithdrawalLimits,
    WithdrawalStatus,
    hold_transfer,
    return_transfer,
)
from redpacket.payments.ports import PAYMENTS_CURSOR
from redpacket.platform.dynamodb.client import (
    Dynamo,
    Guarded,
    Operation,
    Value,
    merge,
    put,
    update,
    values,
)
from redpacket.platform.dynamodb.lists import NewestFirst
from redpacket.platform.errors import InvariantViolated
from redpacket.platform.idempotency import Request

IS_WITHIN_LIMITS = (
    "attribute_not_exists(withdrawn_count)"
    " OR withdrawn_count < :count_max AND withdrawn_fen <= :room_fen"
)
IS_AS_SEEN = (
    "attribute_not_exists(ended_at_ms) AND attempt_no = :attempt AND lease_until_ms = :lease"
)
IS_NOT_STOPPED = "attribute_not_exists(stop_reason)"
IS_STOPPED_AS_SEEN = "stop_reason = :stop"
HAS_NOT_ENDED = "attribute_not_exists(ended_at_ms) AND attempt_no = :attempt"

_ROUTE = "withdrawal"


class DynamoWithdrawals:
    """Repository of withdrawals; state changes are conditional on values that the caller read."""

    def __init__(self, dynamo: Dynamo) -> None:
        self._dynamo = dynamo
        self._payments = dynamo.tables.payments
        self._accounts = dynamo.tables.accounts

    def hold(
        self, withdrawal: Withdrawal, request: Request, limits: WithdrawalLimits
    ) -> str | None:
        """Hold the money, or return the id of the request's earlier withdrawal.

        Raises InsufficientFunds, WithdrawalLimitReached.
        """
        fen = withdrawal.amount_fen
        counted = update(
            self._payments,
            payment_keys.withdrawn(withdrawal.user_id, withdrawal.day),
            "ADD withdrawn_count :one, withdrawn_fen :fen",
            condition=IS_WITHIN_LIMITS,
            one=1,
            fen=fen,
            count_max=limits.count_max,
            room_fen=limits.fen_max - fen,
        )
        return transact_request(
            self._dynamo,
            self._payments,
            _ROUTE,
            request,
            withdrawal.withdrawal_id,
            [
                Guarded(counted, lambda _row: WithdrawalLimitReached()),
                Guarded(put(self._payments, withdrawal_row(withdrawal)), exists),
                *post(self._accounts, [hold_transfer(withdrawal)]),
            ],
        )

    def find_held(self, request: Request) -> str | None:
        """Return the withdrawal id of an executed request, if any. Raises IdempotencyKeyReused."""
        return find_result(self._dynamo, self._payments, _ROUTE, request)

    def find(self, withdrawal_id: str) -> Withdrawal | None:
        """Return a withdrawal."""
        row = self._dynamo.get(self._payments, payment_keys.withdrawal(withdrawal_id))
        return withdrawal_of(row) if row else None

    def list_of_user(
        self, user_id: str, cursor: str | None, limit: int
    ) -> tuple[list[Withdrawal], str | None]:
        """Return a page of a user's withdrawals, newest first, and a cursor; the page may lag."""
        lists = NewestFirst(self._dynamo, self._payments, PAYMENTS_CURSOR)
        rows, more = lists.read_page(payment_keys.withdrawal_list(user_id), cursor, limit)
        return [withdrawal_of(row) for row in rows], more

    def list_to_call(self, channel: ProviderName, until_ms: int, limit: int) -> list[str]:
        """Return the ids of withdrawals that wait for a call, oldest first; the list may lag."""
        return self._list_waiting("transfer", channel, until_ms, limit)

    def list_to_look(self, channel: ProviderName, until_ms: int, limit: int) -> list[str]:
        """Return the ids of withdrawals to query at the provider; the list may lag."""
        return self._list_waiting("look", channel, until_ms, limit)

    def list_looks_after(self, channel: ProviderName, after_ms: int) -> list[str]:
        """Return ids of withdrawals whose next query is due from *after_ms*; the list may lag."""
        return [
            str(row["pk"]).removeprefix(payment_keys.WITHDRAWAL_PREFIX)
            for shard in SHARDS
            for row in self._dynamo.query(
                self._payments,
                IndexName="by_work",
                KeyConditionExpression="work_pk = :work AND work_at_ms >= :after_ms",
                ExpressionAttributeValues=values(
                    work=work(f"look-{channel}", shard), after_ms=after_ms
                ),
            )
        ]

    def note_call(self, seen: Withdrawal, answer: ProviderAnswer) -> None:
        """Append an answer to those stored for operators, and keep the last CALLS_KEPT."""
        self._dynamo.update(
            self._payments,
            payment_keys.withdrawal(seen.withdrawal_id),
            "SET calls = :calls",
            condition="attribute_exists(pk)",
            calls=calls_text([*seen.calls, answer][-CALLS_KEPT:]),
        )

    def promise(self, withdrawal_id: str, expected_at_ms: int) -> None:
        """Store the expected time of the call, which the user sees."""
        self._dynamo.update(
            self._payments,
            payment_keys.withdrawal(withdrawal_id),
            "SET expected_at_ms = :at_ms",
            condition="attribute_exists(pk)",
            at_ms=expected_at_ms,
        )

    def lease(self, seen: Withdrawal, until_ms: int, now_ms: int) -> Withdrawal | None:
        """Lease the right to call the provider until *until_ms*, or return None.

        The withdrawal moves from `list_to_call` to `list_to_look`, due at the end of the lease.
        Return None if the withdrawal has changed, ended or been stopped, or if another lease is
        active at *now_ms*.
        """
        if until_ms <= seen.lease_until_ms or now_ms < seen.lease_until_ms:
            return None
        return self._change(
            seen,
            "SET withdrawal_status = :processing, lease_until_ms = :until_ms,"
            " call_count = :count, work_pk = :look, work_at_ms = :until_ms",
            f"{IS_AS_SEEN} AND {IS_NOT_STOPPED}",
            processing=WithdrawalStatus.PROCESSING,
            until_ms=until_ms,
            count=seen.call_count + 1,
            look=self._look_list(seen),
        )

    def stop(self, seen: Withdrawal, stop: Stop, reason: str, look_at_ms: int) -> Withdrawal | None:
        """Stop calls for this transfer; return None, without effect, if the withdrawal has changed.

        The first stop counts, but a stop in CANCELS replaces a refusal.
        """
        is_cancel = stop in CANCELS
        if seen.stop in CANCELS or (seen.stop and not is_cancel):
            return None
        return self._change(
            seen,
            "SET stop_reason = :stopped, gateway_reason = :reason, withdrawal_status = :status,"
            " work_pk = :look, work_at_ms = :at_ms",
            f"{IS_AS_SEEN} AND {_stopped_as(seen)}",
            stopped=stop,
            reason=reason,
            status=WithdrawalStatus.CANCELLING if is_cancel else seen.status,
            look=self._look_list(seen),
            at_ms=look_at_ms,
            **_stop_of(seen),
        )

    def await_confirmation(
        self, seen: Withdrawal, transfer: TransferFound, look_at_ms: int
    ) -> None:
        """Store the confirmation data for the payee's client."""
        self._change(
            seen,
            "SET withdrawal_status = :awaiting, confirmation = :confirmation,"
            " outside_no = :outside_no, work_pk = :look, work_at_ms = :at_ms",
            f"{IS_AS_SEEN} AND {IS_NOT_STOPPED}",
            awaiting=WithdrawalStatus.AWAITING_CONFIRMATION,
            # A query may omit the confirmation data.
            confirmation=transfer.confirmation or seen.confirmation,
            outside_no=transfer.outside_no,
            look=self._look_list(seen),
            at_ms=look_at_ms,
        )

    def look_again(self, seen: Withdrawal, at_ms: int) -> None:
        """Reschedule a withdrawal in `list_to_look`."""
        status = WithdrawalStatus.CANCELLING if seen.stop in CANCELS else seen.status
        self._change(
            seen,
            "SET withdrawal_status = :status, work_pk = :look, work_at_ms = :at_ms",
            f"{IS_AS_SEEN} AND {_stopped_as(seen)}",
            status=status,
            look=self._look_list(seen),
            at_ms=at_ms,
            **_stop_of(seen),
        )

    def call_again(self, seen: Withdrawal, at_ms: int) -> bool:
        """Schedule a withdrawal in `list_to_call` under the same transfer number."""
        changed = self._change(
            seen,
            "SET work_pk = :transfer, work_at_ms = :at_ms",
            f"{IS_AS_SEEN} AND {IS_NOT_STOPPED}",
            transfer=work_list("transfer", seen.channel, seen.withdrawal_id),
            at_ms=at_ms,
        )
        return changed is not None

    def renumber(self, seen: Withdrawal, at_ms: int) -> bool:
        """Start a new transfer without consent, once the previous transfer can no longer be paid.

        A stop in CANCELS stays, and the withdrawal then moves to `list_to_look`. Otherwise it moves
        to `list_to_call`.
        """
        is_cancel = seen.stop in CANCELS
        kind, stop = ("look", "") if is_cancel else ("transfer", "stop_reason, ")
        changed = self._change(
            seen,
            "SET attempt_no = :next_no, work_pk = :work, work_at_ms = :at_ms"
            f" REMOVE {stop}authorization_no, confirmation",
            f"{IS_AS_SEEN} AND {_stopped_as(seen)}",
            next_no=seen.attempt_no + 1,
            work=work_list(kind, seen.channel, seen.withdrawal_id),
            at_ms=at_ms,
            **_stop_of(seen),
        )
        return changed is not None

    def post(self, seen: Withdrawal, transfer: TransferFound, now_ms: int) -> bool:
        """Set a withdrawal to PAID; return False if it already was. Raises InvariantViolated."""
        line = StatementLine(
            StatementKind.TRANSFER,
            seen.transfer_no,
            transfer.outside_no,
            seen.amount_fen,
            transfer.decided_at_ms or now_ms,
        )
        paid = update(
            self._payments,
            payment_keys.withdrawal(seen.withdrawal_id),
            "SET withdrawal_status = :paid, ended_at_ms = :now_ms, outside_no = :outside_no"
            " REMOVE work_pk, work_at_ms, confirmation",
            condition=HAS_NOT_ENDED,
            paid=WithdrawalStatus.PAID,
            now_ms=now_ms,
            outside_no=transfer.outside_no,
            attempt=seen.attempt_no,
        )
        # A restore may have lost the PAID status, but kept the statement line.
        noted = merge(self._payments, line_row(seen.channel, line, now_ms))
        if self._dynamo.try_transact([paid, noted]):
            return True
        now = self.find(seen.withdrawal_id)
        if now and now.status is WithdrawalStatus.PAID and now.attempt_no == seen.attempt_no:
            return False
        status = now.status if now else "missing"
        raise InvariantViolated(
            f"transfer {seen.transfer_no} is paid, but its withdrawal is {status}"
        )

    def refund(
        self,
        seen: Withdrawal,
        answer: TransferFound,
        *,
        is_cancelled: bool,
        now_ms: int,
        is_case: bool = False,
    ) -> bool:
        """End a withdrawal as CANCELLED or FAILED and repay its user; return False if it changed.

        The row stores the provider's *answer*. If *is_case*, the return and a deposit whose case is
        the withdrawal exclude each other.
        """
        status = WithdrawalStatus.CANCELLED if is_cancelled else WithdrawalStatus.FAILED
        returned = post_operations(self._accounts, [return_transfer(seen, now_ms)])
        ended = self._end(seen, answer, status, now_ms)
        if is_case:
            returned += close_case(self._dynamo, seen.withdrawal_id, answer.state)
        return self._dynamo.try_transact([*ended, *returned]) or self.end_returned(
            seen, answer, status
        )

    def end_returned(
        self, seen: Withdrawal, answer: TransferFound, status: WithdrawalStatus
    ) -> bool:
        """Set a withdrawal to *status* if its money was already returned; otherwise return False.

        A restore may have lost the final status, but kept the return of the money.
        """
        name = return_transfer(seen, 0).transfer_id
        at_ms = find_posted_at_ms(self._dynamo, self._accounts, name)
        return at_ms is not None and self._dynamo.try_transact(
            self._end(seen, answer, status, at_ms)
        )

    def _end(
        self, seen: Withdrawal, answer: TransferFound, status: WithdrawalStatus, now_ms: int
    ) -> list[Operation]:
        ended = update(
            self._payments,
            payment_keys.withdrawal(seen.withdrawal_id),
            "SET withdrawal_status = :status, ended_at_ms = :now_ms, gateway_reason = :reason,"
            " returned_on = :answer REMOVE work_pk, work_at_ms, confirmation",
            condition=f"{IS_AS_SEEN} AND {_stopped_as(seen)}",
            status=status,
            now_ms=now_ms,
            reason=answer.reason or seen.reason,
            answer=answer.state,
            attempt=seen.attempt_no,
            lease=seen.lease_until_ms,
            **_stop_of(seen),
        )
        uncounted = update(
            self._payments,
            payment_keys.withdrawn(seen.user_id, seen.day),
            "ADD withdrawn_count :minus_one, withdrawn_fen :minus_fen",
            minus_one=-1,
            minus_fen=-seen.amount_fen,
        )
        return [ended, uncounted]

    def _list_waiting(
        self, kind: str, channel: ProviderName, until_ms: int, limit: int
    ) -> list[str]:
        rows = oldest(self._dynamo, self._payments, f"{kind}-{channel}", until_ms, limit)
        return [row["pk"].removeprefix(payment_keys.WITHDRAWAL_PREFIX) for row in rows]

    def _look_list(self, seen: Withdrawal) -> str:
        return work_list("look", seen.channel, seen.withdrawal_id)

    def _change(
        self, seen: Withdrawal, expression: str, condition: str, **named: Value
    ) -> Withdrawal | None:
        row = self._dynamo.change(
            update(
                self._payments,
                payment_keys.withdrawal(seen.withdrawal_id),
                expression,
                condition=condition,
                attempt=seen.attempt_no,
                lease=seen.lease_until_ms,
                **named,
            )
        )
        return withdrawal_of(row) if row else None


def _stopped_as(seen: Withdrawal) -> str:
    return IS_STOPPED_AS_SEEN if seen.stop else IS_NOT_STOPPED


def _stop_of(seen: Withdrawal) -> dict[str, Value]:
    return {"stop": seen.stop} if seen.stop else {}
