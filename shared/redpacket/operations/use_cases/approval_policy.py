"""Daily limits on the money that operators move without approval."""

from __future__ import annotations

from dataclasses import dataclass, replace

from redpacket.operations.errors import NotAsApproved
from redpacket.operations.model.allowances import (
    EVERYONE,
    PERIOD_MS,
    PERIODS,
    Allowance,
    ApprovalLimits,
    ApprovalNeededError,
    Count,
)
from redpacket.operations.model.operators import Approved, Change, Operator
from redpacket.operations.ports import Allowances
from redpacket.platform.errors import Forbidden
from redpacket.platform.runtime import Clock


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalPolicy:
    """Policy that lets operators move money within *limits* without approval."""

    allowances: Allowances
    clock: Clock
    limits: ApprovalLimits

    def spend_alone(
        self,
        operator: Operator,
        amount_fen: int,
        advice: str,
        subject: str,
        *,
        held_fen: int = 0,
    ) -> Allowance | None:
        """Return the allowance after a move that no approval can cover.

        Raises Forbidden, with *advice*, if the move exceeds a limit.
        """
        try:
            return self.spend(operator, subject, amount_fen, held_fen=held_fen)
        except ApprovalNeededError as error:
            message = "This affects more money than you may move alone in 24 hours."
            raise Forbidden(f"{message} {advice}") from error

    def spend(
        self,
        operator: Operator,
        subject: str,
        amount_fen: int,
        *,
        held_fen: int = 0,
        version: int = 0,
        changes: tuple[Change, ...] = (),
    ) -> Allowance | None:
        """Return the allowance that the move's transaction must write.

        The subject already holds *held_fen* of the amount. The part of this sum that the operator
        has moved within the window does not count again. Return None if nothing counts, or if the
        move is approved. Raises ApprovalNeededError, and NotAsApproved if the approver saw another
        move.
        """
        if operator.approved:
            if operator.approved != Approved(subject, amount_fen, changes):
                raise NotAsApproved
            return None
        if amount_fen <= 0:
            return None
        now_ms = self.clock.now_ms()
        before = self.allowances.find_allowance(operator.user_id, subject)
        moved_fen = before.sum_fen(now_ms)
        counted_fen = amount_fen - min(held_fen, moved_fen)
        if not counted_fen:
            return None
        is_within = moved_fen + counted_fen <= self.limits.subject_fen
        period, counts = now_ms // PERIOD_MS, []
        for owner, limit_fen in (
            (operator.user_id, self.limits.operator_fen),
            (EVERYONE, self.limits.everyone_fen),
        ):
            moved = self.allowances.find_moved_fen(owner, range(period - PERIODS + 1, period + 1))
            left_fen = limit_fen - counted_fen - sum(moved.values())
            is_within = is_within and left_fen >= 0
            counts.append(Count(owner, period, counted_fen, left_fen + moved.get(period, 0)))
        if not is_within:
            raise ApprovalNeededError(subject, amount_fen, version, changes)
        return replace(before.spent(counted_fen, now_ms), counts=tuple(counts))
