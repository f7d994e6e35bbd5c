"""The round of the beacon that a draw takes: the one of its day, or one of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from redpacket.domain.errors import BeaconPending, InvariantViolated, Rejected
from redpacket.domain.lottery import check_is_giving

if TYPE_CHECKING:
    from redpacket.domain.beacon import BeaconRound
    from redpacket.domain.lottery import BegunDraw, DrawDay, LotterySnapshot
    from redpacket.flows.campaigns.draw_ports import DrawPorts


def round_of_day(
    table: LotterySnapshot, day: DrawDay, ports: DrawPorts
) -> BeaconRound | BeaconPending | None:
    """Return the round that the day's draws take. Raises BeaconPending while the campaign gives.

    Where it does not, the error is returned: who has drawn before is told so again for ever.
    """
    campaign = table.campaign
    try:
        if campaign.beacon is None:
            return None
        round_no = campaign.beacon.round_of(day.starts_at_ms)
        return ports.rounds.recall(campaign.beacon.chain, round_no)
    except BeaconPending as pending:
        try:
            check_is_giving(campaign, ports.clock.now_ms())
        except Rejected:
            return pending
        raise


def round_of_begun(begun: BegunDraw, table: LotterySnapshot, ports: DrawPorts) -> BeaconRound:
    """Return the round of a draw's own. Raises BeaconPending while the campaign gives."""
    campaign = table.campaign
    if campaign.beacon is None:
        raise InvariantViolated(
            f"draw {begun.draw_no} of {begun.user_id} waits for a beacon that is not there"
        )
    try:
        return ports.rounds.recall(campaign.beacon.chain, begun.beacon_round)
    except BeaconPending as pending:
        check_is_giving(campaign, ports.clock.now_ms())
        pending.begun = begun
        raise
