"""Daily limit on the money that one operator moves without approval."""

from __future__ import annotations

from dataclasses import dataclass

from redpacket.domain.approvals import Allowance, ApprovalNeededError
from redpacket.domain.operators import Change, Operator
from redpacket.ports.operators import Allowances
from redpacket.ports.runtime import Clock


@dataclass(frozen=True, slots=True, kw_only=True)
class FourEyes:
    """Policy that lets each operator move *approval_fen* per day and subject alone."""

    allowances: Allowances
    clock: Clock
    approval_fen: int

    def spend(
        self,
        operator: Operator,
        subject: str,
        amount_fen: int,
        *,
        version: int = 0,
        changes: tuple[Change, ...] = (),
    ) -> Allowance | None:
        """Return the allowance that the money's transaction must write.

        Return None if nothing counts: no money, or approved money. Raises ApprovalNeededError.
        """
        if amount_fen <= 0 or operator.is_approved:
            return None
        now_ms = self.clock.now_ms()
        before = self.allowances.find_allowance(operator.user_id, subject)
        if before.sum_fen(now_ms) + amount_fen > self.approval_fen:
            raise ApprovalNeededError(subject, amount_fen, version, changes)
        return before.spent(amount_fen, now_ms)
