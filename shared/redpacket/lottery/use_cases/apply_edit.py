"""Use cases that write an operator's edit, load it into the cache, and return the new state."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from redpacket.campaigns.model import CampaignPlan
from redpacket.lottery.model.lottery import Prize, PrizeStock
from redpacket.lottery.use_cases.edit_campaign import CampaignPorts, edit_campaign
from redpacket.lottery.use_cases.edit_prize import PrizePorts, add_codes, change_stock, put_prize
from redpacket.lottery.use_cases.load_campaign import LoadPorts, load_edited
from redpacket.lottery.use_cases.read_draws import WatchedLottery, watch_lottery
from redpacket.operations.model.operators import Operator
from redpacket.packets.model.packet import PacketStatus
from redpacket.platform.idempotency import Request

_AT_ONCE = 100

_READS_MAX = 100


def apply_campaign(
    plan: CampaignPlan,
    budget_fen: int | None,
    version: int | None,
    operator: Operator,
    *,
    ports: CampaignPorts,
) -> tuple[WatchedLottery, bool]:
    """Edit a campaign; return the operators' view of it, and whether the campaign is new."""
    campaign, is_new = edit_campaign(plan, budget_fen, version, operator, ports=ports)
    watched = _watch(plan.campaign_id, ports.load)
    if watched.lottery.snapshot.prizes:
        load_edited(plan.campaign_id, ports=ports.load)
    return replace(watched, campaign=campaign), is_new


def count_closed(campaign_id: str, *, ports: CampaignPorts) -> int:
    """Return how many of the campaign's first 10,000 packets closed with unclaimed shares."""
    closed_count, after = 0, None
    for _ in range(_READS_MAX):
        packet_ids = ports.campaigns.list_packet_ids(campaign_id, after, _AT_ONCE)
        if not packet_ids:
            break
        after = packet_ids[-1]
        for packet in ports.packets.list_packets(packet_ids):
            closed_count += packet.status is not PacketStatus.OPEN and not packet.is_emptied
    return closed_count


def apply_prize(
    plan: Prize, version: int | None, operator: Operator, *, ports: PrizePorts
) -> tuple[Prize, PrizeStock, bool]:
    """Create or edit a prize; return the prize, its stock, and whether the prize is new."""
    prize, is_new = put_prize(plan, version, operator, ports=ports)
    return prize, _load_prize(prize, ports.load), is_new


def apply_stock(
    campaign_id: str,
    prize_id: str,
    delta: int,
    version: int | None,
    operator: Operator,
    request: Request,
    *,
    ports: PrizePorts,
) -> tuple[Prize, PrizeStock]:
    """Change a prize's total; return the prize and its stock."""
    prize = change_stock(campaign_id, prize_id, delta, version, operator, request, ports=ports)
    return prize, _load_prize(prize, ports.load)


def apply_codes(
    campaign_id: str,
    prize_id: str,
    codes: Sequence[str],
    operator: Operator,
    *,
    ports: PrizePorts,
) -> tuple[Prize, PrizeStock]:
    """Add codes to a prize; return the prize and its stock."""
    prize = add_codes(campaign_id, prize_id, codes, operator, ports=ports)
    return prize, _load_prize(prize, ports.load)


def _load_prize(prize: Prize, ports: LoadPorts) -> PrizeStock:
    load_edited(prize.campaign_id, ports=ports)
    return _watch(prize.campaign_id, ports).stock[prize.prize_id]


def _watch(campaign_id: str, ports: LoadPorts) -> WatchedLottery:
    return watch_lottery(
        campaign_id, campaigns=ports.campaigns, prizes=ports.prizes, clock=ports.clock
    )
