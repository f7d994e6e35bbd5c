"""Decisions on won units of goods and codes. Forfeiting goods adds a unit to the prize."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING

from redpacket.campaigns.errors import CampaignNotFound
from redpacket.lottery.model.lottery import UNITS_MAX, CampaignSnapshot, Prize, PrizeKind
from redpacket.lottery.model.winners import Decision, Winner, WinnerStatus
from redpacket.lottery.use_cases.cash_rules import spend_alone_on, with_prize
from redpacket.lottery.use_cases.load_campaign import LoadPorts, load_edited
from redpacket.operations.model.operators import (
    Action,
    ActionKind,
    Change,
    Operator,
    campaign_subject,
    changes_between,
)
from redpacket.operations.use_cases.approval_policy import ApprovalPolicy
from redpacket.platform.errors import Contended, InvalidRequest, VersionConflict
from redpacket.platform.runtime import Clock

if TYPE_CHECKING:
    from redpacket.lottery.dynamodb.prizes import DynamoPrizes
    from redpacket.lottery.dynamodb.winners import DynamoWinners

_TRIES = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class WinnerPorts:
    """Ports of a decision."""

    winners: DynamoWinners
    prizes: DynamoPrizes
    clock: Clock
    approval_policy: ApprovalPolicy
    load: LoadPorts


def decide_winner(
    campaign_id: str,
    prize_id: str,
    unit_no: int,
    status: WinnerStatus,
    note: str,
    operator: Operator,
    *,
    ports: WinnerPorts,
) -> Winner:
    """Decide on a won unit, or return an identical earlier decision.

    A forfeiture adds a new unit, which can be drawn immediately. Raises CampaignNotFound,
    InvalidRequest for cash, a forfeited code or too many units, VersionConflict after another
    decision, and Forbidden if a forfeiture in a lottery with cash is not permitted.
    """
    for _ in range(_TRIES):
        snapshot = ports.prizes.find_snapshot(campaign_id)
        if snapshot is None:
            raise CampaignNotFound
        prize = _goods_of(snapshot, prize_id)
        winner = ports.winners.find_winner(campaign_id, prize_id, unit_no)
        if winner is None:
            raise CampaignNotFound
        if winner.status is not status:
            if winner.decision:
                raise VersionConflict(f"This unit is already {winner.status}.")
            winner = replace(winner, decision=Decision(status, ports.clock.now_ms(), note))
            if not _write(winner, prize, snapshot, operator, ports):
                continue
        if status is WinnerStatus.FORFEITED:
            load_edited(campaign_id, ports=ports.load)
        return winner
    raise Contended


def _write(
    decided: Winner,
    prize: Prize,
    snapshot: CampaignSnapshot,
    operator: Operator,
    ports: WinnerPorts,
) -> bool:
    decision = decided.decision
    assert decision
    changes = (
        Change("unit", decided.unit, decided.unit),
        Change("winner", WinnerStatus.WON, decision.status),
        Change("note", None, decision.note),
    )
    if decision.status is not WinnerStatus.FORFEITED:
        action = _action(decided, operator, changes)
        return ports.winners.hand_over(decided, decision, action)
    if prize.kind is PrizeKind.CODE:
        raise InvalidRequest.of("status", "cannot be forfeited: the winner already has the code")
    if prize.total >= UNITS_MAX:
        message = f"would exceed the limit of {UNITS_MAX} units for one prize"
        raise InvalidRequest.of("status", message)
    more = replace(prize, total=prize.total + 1, version=prize.version + 1)
    action = _action(decided, operator, (*changes, *changes_between(asdict(prize), asdict(more))))
    planned, advice = with_prize(snapshot, more), "Forfeit the unit after the campaign's end."
    spent = spend_alone_on(snapshot, planned, operator, advice, ports.approval_policy)
    put = ports.prizes.put_prize
    return put(more, snapshot, action, forfeited=decided, spent=spent) is not None


def _action(decided: Winner, operator: Operator, changes: tuple[Change, ...]) -> Action:
    assert decided.decision
    return Action(
        operator.person,
        ActionKind.WINNER_DECIDED,
        campaign_subject(decided.campaign_id),
        decided.decision.at_ms,
        changes,
    )


def _goods_of(snapshot: CampaignSnapshot, prize_id: str) -> Prize:
    prizes = {prize.prize_id: prize for prize in snapshot.prizes}
    if prize_id not in prizes:
        raise CampaignNotFound
    if prizes[prize_id].kind is PrizeKind.PACKET:
        raise InvalidRequest.of(
            "unit", "is cash, which is paid automatically. Name a unit of goods"
        )
    return prizes[prize_id]
