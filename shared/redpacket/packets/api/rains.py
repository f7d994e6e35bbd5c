"""Request body for a planned rain, and its conversion for the use case."""

from __future__ import annotations

from functools import partial
from typing import Annotated

from pydantic import Field

from redpacket.campaigns.api.parameters import campaign_id_of
from redpacket.campaigns.api.schemas import AtMs
from redpacket.campaigns.use_cases.cached_campaigns import get_campaign
from redpacket.containers import containers
from redpacket.packets.api.orders import limited, spend_of
from redpacket.packets.api.send_schemas import DEFAULT_GREETING
from redpacket.packets.model.packet import Kind, Rules
from redpacket.packets.model.rain import PACKETS_MAX, ROUND_S_MAX, ROUNDS_MAX, Rain
from redpacket.packets.split.terms import COUNT_MAX
from redpacket.packets.use_cases.limit_order import default_split
from redpacket.packets.use_cases.plan_rain import RainOrder, plan_rain
from redpacket.packets.use_cases.send_packet import SendOrder
from redpacket.platform.http.bodies import StrictBody, about, body_of, example, idempotent_request
from redpacket.platform.http.request import RequestOf
from redpacket.platform.http.request_fields import Fen


class RainBody(StrictBody):
    """POST /admin/campaigns/{campaign_id}/rains."""

    model_config = example(
        {
            "starts_at_ms": 1_800_000_000_000,
            "seconds": 20,
            "rounds": 2,
            "total_fen": 88_800,
            "count": 200,
            "packets": 3,
        }
    )

    starts_at_ms: Annotated[
        AtMs, about("Start of the first round, in the future and at most 30 days ahead.")
    ]
    seconds: Annotated[int, about("Length of each round.", ge=5, le=ROUND_S_MAX)]
    rounds: Annotated[
        int,
        about("Number of rounds, with a pause of 30 seconds between them.", ge=1, le=ROUNDS_MAX),
    ] = 1
    total_fen: Annotated[Fen, about("Total of all packets in all rounds, paid from the budget.")]
    count: Annotated[int, about("Number of shares in each packet.", ge=1, le=COUNT_MAX)]
    packets: Annotated[
        Annotated[int, Field(ge=1, le=PACKETS_MAX)] | None,
        about(
            "Packets in each round; a player may claim one share of each. All rounds together may "
            f"have at most {PACKETS_MAX} packets, and no more than the campaign's quota per user. "
            "By default 6, or fewer if the quota is smaller."
        ),
    ] = None


def planned_rain(request: RequestOf[RainBody]) -> Rain:
    """Plan the requested rain. Raises CampaignNotFound and the errors of `plan_rain`."""
    campaign_id, body = campaign_id_of(request), body_of(RainBody, request)
    campaign = get_campaign(campaign_id, campaigns=containers.campaigns.repository)
    whole = SendOrder(
        sender=request.user,
        request=idempotent_request(request),
        kind=Kind.LUCKY,
        split=default_split(Kind.LUCKY),
        rules=Rules(),
        total_fen=body.total_fen,
        count=body.count,
        share_fen_min=1,
        share_fen_max=0,
        unit_fen=1,
        greeting=DEFAULT_GREETING,
        life_ms=1000 * body.seconds,
        starts_at_ms=body.starts_at_ms,
        campaign=campaign,
    )
    return plan_rain(
        RainOrder(limited(whole), campaign, body.seconds, body.rounds, body.packets),
        spend_of=partial(spend_of, request),
        rains=containers.campaigns.rain_plans,
        ports=containers.packets.send_ports,
    )
