"""Money and pending business of a user whose erasure is requested."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from redpacket.payments.model.payments import Payment
    from redpacket.payments.model.withdrawals import Withdrawal


@dataclass(frozen=True, slots=True)
class Standing:
    """Balance and counters from a user's balance row.

    *open_count* includes unpaid packets. *sent_count* counts all funded packets, *sent_counts* has
    the yearly counters by attribute name, and *received_count* counts all settled claims.
    *owed_fen* is the user's debt, from another row.
    """

    balance_fen: int = 0
    open_count: int = 0
    sent_count: int = 0
    received_count: int = 0
    owed_fen: int = 0
    sent_counts: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class OutsideRows:
    """A user's payments, withdrawals and consents, with counts that reveal incomplete lists.

    *begun_counts* has the number of payments started on each day, for recent days.
    *withdrawn_count* excludes withdrawals whose money was returned. *returning_count* counts
    transactions whose return is pending or waits for an operator.
    """

    payments: Sequence[Payment]
    withdrawals: Sequence[Withdrawal]
    authorization_nos: Sequence[str]
    begun_counts: dict[str, int]
    withdrawn_count: int
    returning_count: int
