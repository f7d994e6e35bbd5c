"""Four eyes: count what an operator moves alone, and stop at a sum a day."""

from __future__ import annotations

from dataclasses import dataclass

from redpacket.domain.approvals import Allowance, ApprovalNeededError
from redpacket.domain.operators import Change, Operator
from redpacket.ports.operators import Allowances
from redpacket.ports.runtime import Clock


@dataclass(frozen=True, slots=True, kw_only=True)
class FourEyes:
    """Lets each operator move *approval_fen* a day to a subject alone."""

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
        """Return the allowance as the transaction that moves the money must leave it.

        None where nothing counts: no money, or money that was approved. Raises ApprovalNeededError.
        """
        if amount_fen <= 0 or operator.is_approved:
            return None
        now_ms = self.clock.now_ms()
        before = self.allowances.find_allowance(operator.user_id, subject)
        # The sum, not the call: many small ones are one large one.
        if before.sum_fen(now_ms) + amount_fen > self.approval_fen:
            raise ApprovalNeededError(subject, amount_fen, version, changes)
        return before.spent(amount_fen, now_ms)
