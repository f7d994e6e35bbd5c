"""Campaigns, their budgets and their packets in CampaignsTable."""

from __future__ import annotations

from typing import Any

from redpacket.adapters import keys
from redpacket.adapters.dynamo import Dynamo, Operation, Value, from_wire, put, update, values
from redpacket.domain.campaign import (
    Campaign,
    CampaignPlan,
    CampaignStatus,
    DrawRules,
    WhenSoldOut,
)
from redpacket.domain.errors import (
    CampaignEnded,
    CampaignNotFound,
    CampaignPaused,
    InsufficientFunds,
    RedPacketError,
)
from redpacket.domain.packet import Packet

# What the conditions of this module mean.
IS_AS_READ = "version = :read_version"
CAN_GIVE_UP = "budget_left_fen >= :given_up"
CAN_SPEND = "#status = :on AND ends_at_ms >= :later_ms AND budget_left_fen >= :spent"

_NO_RULES = DrawRules()


class DynamoCampaigns:
    """Implements Campaigns."""

    def __init__(self, dynamo: Dynamo, table: str) -> None:
        self._dynamo = dynamo
        self._table = table

    def find_campaign(self, campaign_id: str) -> Campaign | None:
        row = self._dynamo.get(self._table, keys.campaign(campaign_id))
        return campaign_of(row) if row else None

    def create(self, campaign: Campaign) -> bool:
        key = keys.campaign(campaign.campaign_id)
        money: dict[str, Value] = {
            "budget_fen": campaign.budget_fen,
            "budget_left_fen": campaign.budget_left_fen,
            "version": campaign.version,
            "table_version": 1,
            "prize_count": 0,
        }
        return self._dynamo.write(put(self._table, {**key, **_plan_row(campaign), **money}))

    def edit(self, campaign: Campaign, before: Campaign) -> bool:
        change_fen = campaign.budget_fen - before.budget_fen
        planned = _plan_row(campaign)
        operation = update(
            self._table,
            keys.campaign(campaign.campaign_id),
            # Packets take from the budget meanwhile: what is left changes by the difference.
            "SET budget_left_fen = budget_left_fen + :change_fen, budget_fen = :budget_fen,"
            f" version = :version, {', '.join(f'#{name} = :{name}' for name in planned)}"
            # The lottery's: a draw sees one table of a campaign and its prizes.
            " ADD table_version :one",
            condition=f"{IS_AS_READ} AND {CAN_GIVE_UP}",
            **planned,
            change_fen=change_fen,
            given_up=-change_fen,
            budget_fen=campaign.budget_fen,
            version=campaign.version,
            read_version=before.version,
            one=1,
        )
        # Some of them are words of DynamoDB's own.
        operation["Update"]["ExpressionAttributeNames"] = {f"#{name}": name for name in planned}
        return self._dynamo.write(operation)

    def list_packet_ids(self, campaign_id: str, after: str | None, limit: int) -> list[str]:
        first = f"{keys.CAMPAIGN_PACKET_PREFIX}{after or ''}"
        rows = self._dynamo.query_some(
            self._table,
            limit + 1,
            KeyConditionExpression="pk = :pk AND sk BETWEEN :first AND :last",
            ExpressionAttributeValues=values(
                pk=keys.campaign(campaign_id)["pk"],
                first=first,
                last=f"{keys.CAMPAIGN_PACKET_PREFIX}~",
            ),
            ConsistentRead=True,
        )
        ids = [str(row["sk"]).removeprefix(keys.CAMPAIGN_PACKET_PREFIX) for row in rows]
        return [packet_id for packet_id in ids if packet_id != after][:limit]


def spend(table: str, packet: Packet, campaign_id: str) -> list[Operation]:
    """Return what puts a packet into its campaign: the budget's operation, then the membership."""
    spent_fen = packet.terms.total_fen
    budget = update(
        table,
        keys.campaign(campaign_id),
        "ADD budget_left_fen :change_fen",
        condition=CAN_SPEND,
        change_fen=-spent_fen,
        spent=spent_fen,
        later_ms=packet.created_at_ms + 1,
        on=CampaignStatus.ON,
    )
    budget["Update"]["ExpressionAttributeNames"] = {"#status": "status"}
    member: dict[str, Value] = {
        **keys.campaign_packet(campaign_id, packet.packet_id),
        "total_fen": spent_fen,
        "created_at_ms": packet.created_at_ms,
    }
    return [budget, put(table, member)]


def spending_refusal(operation: Operation, found: dict[str, Value]) -> RedPacketError | None:
    """Say why a budget's operation was refused by *found*; None for any other operation."""
    arguments = operation.get("Update", {})
    if arguments.get("ConditionExpression") != CAN_SPEND:
        return None
    if not found:
        return CampaignNotFound("no such campaign")
    bound = from_wire(arguments["ExpressionAttributeValues"])
    if int(found["ends_at_ms"]) < int(bound[":later_ms"]):
        return CampaignEnded("the campaign is over")
    if found["status"] != bound[":on"]:
        return CampaignPaused("an operator has turned the campaign off")
    return InsufficientFunds(
        f"the campaign's budget has {found['budget_left_fen']} fen left, and the packet takes more"
    )


def campaign_of(row: dict[str, Any]) -> Campaign:
    """Read a campaign's row."""
    return Campaign(
        campaign_id=row["campaign_id"],
        title=row["title"],
        description=row["description"],
        starts_at_ms=row["starts_at_ms"],
        ends_at_ms=row["ends_at_ms"],
        timezone=row["timezone"],
        miss_weight=row["miss_weight"],
        rules=DrawRules(
            row["attempts_per_user_per_day"],
            row["wins_per_user_per_day"],
            # Campaigns of before the lottery have neither.
            row.get("guaranteed_after_misses", _NO_RULES.guaranteed_after_misses),
            row.get("helps_per_user_per_day", _NO_RULES.helps_per_user_per_day),
        ),
        when_sold_out=WhenSoldOut(row["when_sold_out"]),
        passphrase=row["passphrase"] or None,
        quota_per_user=row["quota_per_user"],
        status=CampaignStatus(row["status"]),
        budget_fen=row["budget_fen"],
        budget_left_fen=row["budget_left_fen"],
        version=row["version"],
    )


def _plan_row(plan: CampaignPlan) -> dict[str, Value]:
    return {
        "campaign_id": plan.campaign_id,
        "title": plan.title,
        "description": plan.description,
        "starts_at_ms": plan.starts_at_ms,
        "ends_at_ms": plan.ends_at_ms,
        "timezone": plan.timezone,
        "miss_weight": plan.miss_weight,
        "attempts_per_user_per_day": plan.rules.attempts_per_user_per_day,
        "wins_per_user_per_day": plan.rules.wins_per_user_per_day,
        "guaranteed_after_misses": plan.rules.guaranteed_after_misses,
        "helps_per_user_per_day": plan.rules.helps_per_user_per_day,
        "when_sold_out": plan.when_sold_out,
        "passphrase": plan.passphrase or "",
        "quota_per_user": plan.quota_per_user,
        "status": plan.status,
    }
