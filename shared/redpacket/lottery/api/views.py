"""Responses for campaigns and lotteries, in a module that the grab function does not import."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from redpacket.campaigns.model import CampaignPlan, CampaignStatus
from redpacket.campaigns.use_cases.edit_audience import Audience
from redpacket.lottery.model.lottery import (
    Draw,
    HelpStatus,
    Prize,
    PrizeStock,
    has_units_left,
)
from redpacket.lottery.model.odds import point_text, probabilities
from redpacket.lottery.use_cases.cached_lotteries import Lottery
from redpacket.lottery.use_cases.draw_prize import DrawResult
from redpacket.lottery.use_cases.help_inviter import Helped
from redpacket.lottery.use_cases.read_draws import DrawPage, DrawProof, WatchedLottery

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from redpacket.lottery.api import answers as campaigns
    from redpacket.lottery.model.winners import Address, Winner
    from redpacket.lottery.use_cases.preheat_campaign import Preheated
    from redpacket.packets.api.answers import ShownRound
    from redpacket.packets.model.packet import Packet


def campaign_view(
    lottery: Lottery, rain: Sequence[Packet], rounds: list[ShownRound], now_ms: int
) -> campaigns.Campaign:
    """Return a campaign for any reader, without budget, passphrase and disabled prizes' weights."""
    campaign = lottery.snapshot.campaign
    plan = _plan(campaign)
    if not campaign.passphrase or not campaign.rules.attempts_per_user_per_day:
        plan["rules"]["helps_per_user_per_day"] = 0
    chances = probabilities(lottery.snapshot, lottery.sold_out)
    return {
        **plan,
        "state": campaign.state(now_ms),
        "prizes": [
            {
                **_shown_prize(prize, is_sold_out=prize.prize_id in lottery.sold_out),
                "weight": prize.weight if prize.status is CampaignStatus.ON else None,
                "probability": chances[prize.prize_id],
            }
            for prize in lottery.snapshot.prizes
        ],
        "packets": [
            {"packet_id": packet.packet_id, "count": packet.terms.count} for packet in rain
        ],
        "rains": rounds,
        "day": lottery.day,
        "commitment": lottery.commitment,
    }


def campaign_admin_view(watched: WatchedLottery, closed_count: int = 0) -> campaigns.CampaignAdmin:
    """Return a campaign for operators; after an edit, *closed_count* packets stay closed."""
    campaign, lottery = watched.campaign, watched.lottery
    return {
        # Take the plan and the version from the same row, because edits send the version.
        **_plan(campaign),
        "prizes": [
            prize_admin_view(prize, watched.stock.get(prize.prize_id))
            for prize in lottery.snapshot.prizes
        ],
        "day": lottery.day,
        "commitment": lottery.commitment,
        "miss_weight": campaign.miss_weight,
        "passphrase": campaign.passphrase,
        "budget_fen": campaign.budget_fen,
        "budget_left_fen": campaign.budget_left_fen,
        "version": campaign.version,
        "table_version": lottery.snapshot.version,
        "required_claims": {name: list(values) for name, values in campaign.required_claims},
        "audience_mode": campaign.audience_mode,
        "audience_size": lottery.snapshot.audience_size,
        "closed_packets": closed_count or None,
    }


def audience_view(audience: Audience) -> campaigns.Audience:
    """Return the size and mode of a campaign's audience list."""
    return {"size": audience.size, "mode": audience.mode}


def _plan(campaign: CampaignPlan) -> campaigns.Plan:
    return {
        "campaign_id": campaign.campaign_id,
        "title": campaign.title,
        "description": campaign.description,
        "starts_at_ms": campaign.starts_at_ms,
        "ends_at_ms": campaign.ends_at_ms,
        "timezone": campaign.timezone,
        "rules": {
            "attempts_per_user_per_day": campaign.rules.attempts_per_user_per_day,
            "wins_per_user_per_day": campaign.rules.wins_per_user_per_day,
            "guaranteed_after_misses": campaign.rules.guaranteed_after_misses,
            "helps_per_user_per_day": campaign.rules.helps_per_user_per_day,
            "helps_given_per_user_per_day": campaign.rules.helps_given_per_user_per_day,
        },
        "when_sold_out": campaign.when_sold_out,
        "quota_per_user": campaign.quota_per_user,
        "amounts_shown": campaign.amounts_shown,
        "status": campaign.status,
    }


def prize_admin_view(prize: Prize, stock: PrizeStock | None) -> campaigns.PrizeAdmin:
    """Return a prize for operators, with the number of won units."""
    is_sold_out = not has_units_left(prize, stock or PrizeStock(prize.prize_id))
    return {
        **_shown_prize(prize, is_sold_out=is_sold_out),
        "weight": prize.weight,
        "total": prize.total,
        "per_day": prize.per_day,
        "per_hour": prize.per_hour,
        "issued": stock.won_count if stock else 0,
        # The ledger counts these units only if the prize has a daily stock.
        "issued_today": stock.won_today_count if stock and prize.per_day else None,
        "version": prize.version,
    }


def _shown_prize(prize: Prize, *, is_sold_out: bool) -> campaigns.ShownPrize:
    return {
        **_won_prize(prize),
        "description": prize.description,
        "attributes": json.loads(prize.attributes),
        "once_per_user": prize.once_per_user,
        "status": prize.status,
        "is_sold_out": is_sold_out,
    }


def _won_prize(prize: Prize) -> campaigns.WonPrize:
    return {
        "prize_id": prize.prize_id,
        "title": prize.title,
        "kind": prize.kind,
        "amount_fen": prize.amount_fen,
        "image_url": prize.image_url,
    }


def drawn_view(result: DrawResult, codes: Mapping[str, str]) -> campaigns.Drawn:
    """Return a user's draw; *codes* maps draw ids to codes."""
    draw = result.draw
    return {
        **_one_draw(draw, codes),
        "attempts_left": result.attempts_left,
        "wins_left_today": result.wins_left,
    }


def address_view(winner: Winner, address: Address | None) -> campaigns.GoodsAddress:
    """Return the status and delivery address of the caller's goods."""
    return {
        "status": winner.status.value,
        "name": address.name if address else None,
        "phone": address.phone if address else None,
        "address": address.address if address else None,
    }


def draws_view(page: DrawPage, codes: Mapping[str, str]) -> campaigns.Draws:
    """Return a user's draws, in the form that `python -m redpacket.verify` reads."""
    return {
        "user_token": page.user_id,
        "items": [_draw_view(draw, codes) for draw in page.items],
        "next": page.next,
        "attempts_left": page.attempts_left,
        "wins_left_today": page.wins_left,
    }


def _one_draw(draw: Draw, codes: Mapping[str, str]) -> campaigns.OneDraw:
    return {
        "draw_id": draw.draw_id,
        "n": draw.draw_no,
        "outcome": "won" if draw.prize else "missed",
        "prize": _won_prize(draw.prize) if draw.prize else None,
        "code": codes.get(draw.draw_id),
        "drawn_at_ms": draw.drawn_at_ms,
    }


def _draw_view(draw: Draw, codes: Mapping[str, str]) -> campaigns.Draw:
    return {
        **_one_draw(draw, codes),
        "day": draw.day,
        "formula": point_text("{seed}", draw.campaign_id, draw.user_id, draw.draw_no),
        "point": draw.point,
        "odds": draw.odds,
        "table_version": draw.snapshot_version,
    }


def draw_proof_view(proof: DrawProof) -> campaigns.DrawProof:
    """Return the seed of a day's draws, in the form that `python -m redpacket.verify` reads."""
    return {
        "campaign_id": proof.campaign_id,
        "day": proof.day,
        "commitment": proof.commitment,
        "seed": proof.seed.hex(),
        "secret_version": proof.secret_version,
    }


def helped_view(helped: Helped) -> campaigns.Helped:
    """Return the result of a friend's help."""
    return {
        "outcome": "helped" if helped.status is HelpStatus.HELPED else "already_helped",
        "attempts_left_of_inviter": helped.attempts_left,
    }


def preheated_view(preheated: Preheated) -> campaigns.Preheated:
    """Return the progress of a preheat."""
    return {
        "packet_count": preheated.packet_count,
        "loaded_count": preheated.loaded_count,
        "next": preheated.next_cursor,
    }
