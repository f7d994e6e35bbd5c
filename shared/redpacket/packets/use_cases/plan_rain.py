"""Rain planning (红包雨): store the rounds, then fund each packet once. A retry continues."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from redpacket.campaigns.errors import CampaignPaused
from redpacket.campaigns.model import Campaign, CampaignStatus
from redpacket.ledger.errors import InsufficientFunds
from redpacket.operations.model.operators import Action, ActionKind, campaign_subject
from redpacket.packets.model import rain as rains_model
from redpacket.packets.model.packet import shards_for
from redpacket.packets.model.rain import CROWD_MAX, Rain, Round
from redpacket.packets.use_cases.send_packet import (
    SendOrder,
    SendPorts,
    check_order,
    send_packet,
)
from redpacket.platform.errors import InvalidRequest
from redpacket.platform.idempotency import Request, hash_of_key

if TYPE_CHECKING:
    from redpacket.operations.model.allowances import Allowance
    from redpacket.packets.dynamodb.rains import DynamoRains

    SpendOf = Callable[..., Callable[[Action], Allowance | None] | None]


@dataclass(frozen=True, slots=True)
class RainOrder:
    """An operator's request; *whole* has the first start, the round length and the total amount.

    Without *packets*, each round has as many packets as the quota covers, at most six.
    """

    whole: SendOrder
    campaign: Campaign
    seconds: int
    rounds: int
    packets: int | None


def plan_rain(order: RainOrder, *, spend_of: SpendOf, rains: DynamoRains, ports: SendPorts) -> Rain:
    """Return the request's rain, planned now or by an earlier call.

    *spend_of* returns the `spend` argument of `send_packet` for the given orders. Raises the errors
    of `send_packet`. A retry before the first round funds the missing packets.
    """
    request, campaign_id = order.whole.request, order.campaign.campaign_id
    rain = rains.find(campaign_id, request)
    if rain is None:
        new = _new_rain(order, ports)
        _check(order, new, spend_of, ports.clock.now_ms())
        rain = rains.store(new, request)
    if not rain.is_funded:
        _check_start(rain, ports.clock.now_ms())
        if rains.is_crowded(rain):
            message = (
                f"is near too many rounds of other rains. At most {CROWD_MAX} may be close together"
            )
            raise InvalidRequest.of("starts_at_ms", message)
        for each, packet_id in _packet_orders(order, rain):
            planned = replace(ports, new_id=partial(_planned_id, packet_id))
            send_packet(each, spend=spend_of(each), ports=planned)
        rains.mark_funded(rain)
    return rain


def _new_rain(order: RainOrder, ports: SendPorts) -> Rain:
    count = order.packets or rains_model.default_packets(
        order.campaign.quota_per_user, order.rounds
    )
    shards = shards_for(order.whole.count, ports.shard_share_count)
    rounds = [
        replace(each, packet_ids=tuple(ports.new_id(shards) for _ in range(count)))
        for each in rains_model.windows(order.whole.starts_at_ms, order.seconds, order.rounds)
    ]
    plan_id = order.whole.request.id_of("rain")
    return Rain(order.campaign.campaign_id, plan_id, rounds)


def _planned_id(packet_id: str, _shards: int) -> str:
    return packet_id


def _packet_orders(order: RainOrder, rain: Rain) -> Iterator[tuple[SendOrder, str]]:
    """Yield the order for each packet with the packet's planned id."""
    planned = [(each, packet_id) for each in rain.rounds for packet_id in each.packet_ids]
    sums = rains_model.shares_of_total(order.whole.total_fen, len(planned))
    whole = order.whole
    for number, ((each, packet_id), total_fen) in enumerate(zip(planned, sums, strict=True)):
        key_hash = hash_of_key(f"{rain.plan_id}#{number}")
        request = Request(whole.request.user_id, key_hash, whole.request.body_hash)
        yield (
            replace(whole, request=request, total_fen=total_fen, starts_at_ms=each.starts_at_ms),
            packet_id,
        )


def _check(order: RainOrder, rain: Rain, spend_of: SpendOf, now_ms: int) -> None:
    """Raise before any money moves if one of the packets would be refused later."""
    campaign, whole = order.campaign, order.whole
    _check_start(rain, now_ms)
    if refused := _refused_fields(campaign, rain.rounds):
        raise InvalidRequest([{"field": field, "message": message} for field, message in refused])
    if campaign.status is not CampaignStatus.ON:
        raise CampaignPaused
    if campaign.budget_left_fen < whole.total_fen:
        left_fen = campaign.budget_left_fen
        raise InsufficientFunds(
            f"The campaign's budget has {left_fen} fen left, less than the rain takes."
        )
    orders = [each for each, _ in _packet_orders(order, rain)]
    for each in orders:
        check_order(each, now_ms)
    if spend := spend_of(*orders):
        subject = campaign_subject(campaign.campaign_id)
        spend(Action(whole.sender, ActionKind.PACKET_SENT, subject, now_ms, ()))


def _check_start(rain: Rain, now_ms: int) -> None:
    if rain.rounds[0].starts_at_ms <= now_ms:
        raise InvalidRequest.of("starts_at_ms", "is in the past")


def _refused_fields(campaign: Campaign, rounds: Sequence[Round]) -> list[tuple[str, str]]:
    refused, quota = [], campaign.quota_per_user
    count = sum(len(each.packet_ids) for each in rounds)
    if count > rains_model.PACKETS_MAX:
        message = f"makes {count} packets in all rounds, more than {rains_model.PACKETS_MAX}"
        refused.append(("packets", message))
    if 0 < quota < count:
        message = f"makes {count} packets in all rounds; the campaign's quota_per_user is {quota}"
        refused.append(("packets", message))
    if rounds[0].starts_at_ms < campaign.starts_at_ms:
        refused.append(("starts_at_ms", "is before the start of the campaign"))
    if rounds[-1].ends_at_ms > campaign.ends_at_ms:
        refused.append(("starts_at_ms", "lets the last round end after the campaign"))
    return refused
