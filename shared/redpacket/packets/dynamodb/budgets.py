"""Debits of campaigns' budgets by their packets."""

from __future__ import annotations

from redpacket.campaigns.dynamodb import keys as campaign_keys
from redpacket.campaigns.errors import CampaignEnded, CampaignNotFound, CampaignPaused
from redpacket.campaigns.model import CampaignStatus
from redpacket.ledger.dynamodb import keys
from redpacket.ledger.errors import InsufficientFunds
from redpacket.packets.model.packet import Packet
from redpacket.platform.dynamodb.client import Guarded, Operation, Row, Value, put, update
from redpacket.platform.errors import RedPacketError

CAN_SPEND = "#status = :on AND ends_at_ms >= :later_ms AND budget_left_fen >= :spent"


def spend(
    table: str, packet: Packet, campaign_id: str
) -> tuple[Guarded[RedPacketError], Operation]:
    """Return the writes that debit the campaign's budget and add the packet to it."""
    spent_fen = packet.terms.total_fen
    budget = update(
        table,
        campaign_keys.campaign(campaign_id),
        "ADD budget_left_fen :change_fen",
        condition=CAN_SPEND,
        change_fen=-spent_fen,
        spent=spent_fen,
        later_ms=packet.created_at_ms + 1,
        on=CampaignStatus.ON,
    )
    budget["Update"]["ExpressionAttributeNames"] = {"#status": "status"}
    member: dict[str, Value] = {
        **campaign_keys.campaign_packet(campaign_id, packet.packet_id),
        "list_pk": campaign_keys.packet_list(campaign_id),
        "list_sk": keys.list_position(packet.created_at_ms, packet.packet_id),
        "total_fen": spent_fen,
        "created_at_ms": packet.created_at_ms,
    }
    guarded = Guarded(budget, lambda row: _spending_refusal(row, packet.created_at_ms))
    return guarded, put(table, member)


def _spending_refusal(row: Row, now_ms: int) -> RedPacketError:
    if not row:
        return CampaignNotFound()
    if int(row["ends_at_ms"]) <= now_ms:
        return CampaignEnded()
    if row["status"] != CampaignStatus.ON:
        return CampaignPaused()
    left_fen = int(row["budget_left_fen"])
    return InsufficientFunds(
        f"The campaign's budget has {left_fen} fen left, less than the packet takes."
    )
