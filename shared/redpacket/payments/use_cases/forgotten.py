"""Forgotten transfers: statements decide, because a provider's NOT_FOUND no longer can.

After `PayoutProvider.query_horizon_ms`, NOT_FOUND proves nothing (model/withdrawals.py::judge). The
statements still list a paid transfer, and the comparison of statements posts it. If no statement
lists the transfer, an operator returns the money, because we may misread a statement's format.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import cache

from redpacket.ledger.provider_name import ProviderName
from redpacket.payments.model.provider import (
    StatementLine,
    TransferFound,
    TransferState,
    statement_day,
    statement_day_start_ms,
)
from redpacket.payments.model.withdrawals import (
    CANCELS,
    GIVEN_UP_AFTER_MS,
    Withdrawal,
    withdrawal_of_transfer,
)
from redpacket.payments.ports import QUERY_HORIZON_MS, RETURN_DAYS, PayoutProvider
from redpacket.payments.use_cases.dependencies import WithdrawalPorts
from redpacket.payments.use_cases.transfer import LOOK_PAUSE_MS_MAX, apply_answer
from redpacket.platform.difference import Difference
from redpacket.platform.errors import InvariantViolated, Unavailable

_HOUR_MS = 3_600_000
_DAY_MS = 24 * _HOUR_MS

_Read = Callable[[str], list[StatementLine] | None]


def settle_forgotten(
    channel: ProviderName, *, ports: WithdrawalPorts, stop_at_ms: int
) -> list[Difference]:
    """Post forgotten withdrawals that statements list as paid; return the others for operators."""
    read = cache(lambda day: ports.provider(channel).read_statement(day))
    left: list[Difference] = []
    later_ms = ports.clock.now_ms() + LOOK_PAUSE_MS_MAX
    for withdrawal_id in ports.repository.list_looks_after(channel, later_ms):
        seen = _find_forgotten(withdrawal_id, ports)
        if seen is None or ports.clock.now_ms() >= stop_at_ms:
            continue
        try:
            answer = _settle(seen, read, ports)
        except Exception as error:  # noqa: BLE001 - one withdrawal must not block the others
            ports.logger.failure("bill_not_read", error, transfer_no=seen.transfer_no)
            answer = str(error)
        if answer:
            left.append(
                Difference("bill", seen.transfer_no, "forgotten transfer", answer, seen.amount_fen)
            )
    return left


def _settle(seen: Withdrawal, read: _Read, ports: WithdrawalPorts) -> str:
    """Post a withdrawal that statements list as paid; return "not paid" if they list no payment."""
    provider = ports.provider_of(seen)
    transfer = provider.query(seen.transfer_no)
    if transfer.state is not TransferState.NOT_FOUND:
        # The provider still has the transfer, and a lock in the statements proves no payment.
        apply_answer(seen, transfer, provider, ports)
        return ""
    transfer = _find_in_statements(seen, read, _days(seen, provider, ports))
    if transfer.state is TransferState.SUCCEEDED:
        apply_answer(seen, transfer, provider, ports)
    elif transfer.state is TransferState.NOT_FOUND:
        # A restore reset the row to its state before a second transfer, which the next run posts.
        ports.repository.renumber(seen, ports.clock.now_ms())
    return "not paid" if transfer.state is TransferState.CANCELLED else ""


def return_forgotten(withdrawal_id: str, *, ports: WithdrawalPorts) -> str:
    """Refund a forgotten withdrawal after an operator's decision; return the result as text.

    Afterwards, no deposit can use the withdrawal as its case. Raises InvariantViolated,
    ProviderChanged, Unavailable.
    """
    seen = _find_forgotten(withdrawal_id, ports)
    if seen is None:
        return "not returned: it has ended, or the provider's queries still decide"
    provider = ports.provider_of(seen)
    for number in (seen.transfer_no, seen.next_transfer_no):
        # The provider still knows the transfer, and may pay it.
        if (state := provider.query(number).state) is not TransferState.NOT_FOUND:
            return f"not returned: the provider answers {state}"
    transfer = _find_in_statements(seen, provider.read_statement, _days(seen, provider, ports))
    if transfer.state is not TransferState.CANCELLED:
        return "not returned: the statements say that it was paid"
    now_ms = ports.clock.now_ms()
    if not ports.repository.refund(seen, transfer, is_cancelled=True, now_ms=now_ms, is_case=True):
        return "not returned: it has changed, or its case has a deposit"
    ports.logger.event("withdrawal_returned", channel=seen.channel)
    return "returned"


def _find_forgotten(withdrawal_id: str, ports: WithdrawalPorts) -> Withdrawal | None:
    """Return a withdrawal if no call can pay it, and NOT_FOUND proves nothing anymore."""
    seen = ports.repository.find(withdrawal_id)
    if seen is None or seen.is_final or seen.stop not in CANCELS:
        return None
    is_forgotten = ports.clock.now_ms() >= seen.created_at_ms + QUERY_HORIZON_MS
    return seen if is_forgotten else None


def _find_in_statements(seen: Withdrawal, read: _Read, days: list[str]) -> TransferFound:
    """Return a withdrawal's transfer from the statements; CANCELLED if none is listed as paid.

    Return NOT_FOUND if the withdrawal's next number is paid. Raises Unavailable if the statement of
    a possible booking day is missing, and InvariantViolated if another number is paid.
    """
    fen, last = Counter[str](), dict[str, StatementLine]()
    for day in days:
        lines = read(day)
        if lines is None:
            raise Unavailable(f"there is no statement of {day}")
        for line in lines:
            if withdrawal_of_transfer(line.number) == seen.withdrawal_id:
                fen[line.number] += -line.amount_fen if line.is_return else line.amount_fen
                last[line.number] = line
    paid = [number for number, left_fen in fen.items() if left_fen]
    if not paid:
        return TransferFound(TransferState.CANCELLED, reason="statements")
    if paid == [seen.next_transfer_no]:
        return TransferFound(TransferState.NOT_FOUND)
    if paid != [seen.transfer_no]:
        raise InvariantViolated(f"statements have {', '.join(paid)}")
    line = last[seen.transfer_no]
    of = line.outside_no, fen[seen.transfer_no]
    return TransferFound(TransferState.SUCCEEDED, *of, decided_at_ms=line.moved_at_ms)


def _days(seen: Withdrawal, provider: PayoutProvider, ports: WithdrawalPorts) -> list[str]:
    """Return the days on which a withdrawal's transfer may be booked or returned.

    A provider that locks no money books a slow transfer when it is paid, perhaps much later.
    """
    begin_ms = seen.created_at_ms - _HOUR_MS
    end_ms = seen.created_at_ms + GIVEN_UP_AFTER_MS + RETURN_DAYS * _DAY_MS + _HOUR_MS
    if not provider.locks_money:
        end_ms = statement_day_start_ms(statement_day(ports.clock.now_ms()))
    return sorted({statement_day(at_ms) for at_ms in range(begin_ms, end_ms, _HOUR_MS)})
