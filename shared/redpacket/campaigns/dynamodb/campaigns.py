"""Campaigns, their budgets and their packets in CampaignsTable."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from typing import TYPE_CHECKING

from redpacket.campaigns.dynamodb import keys as campaign_keys
from redpacket.campaigns.dynamodb.items import campaign_of, plan_row
from redpacket.campaigns.errors import CampaignEnded, CampaignNotFound, CampaignPaused
from redpacket.campaigns.model import Campaign, CampaignStatus
from redpacket.fairness.dynamodb import keys as fairness_keys
from redpacket.ledger.dynamodb import keys
from redpacket.ledger.errors import InsufficientFunds
from redpacket.packets.model.packet import Packet
from redpacket.packets.model.seed_keys import SeedKeys
from redpacket.platform.dynamodb.client import (
    Dynamo,
    Guarded,
    Operation,
    Row,
    TransactionCanceled,
    Value,
    merge,
    put,
    update,
    values,
)
from redpacket.platform.errors import InvariantViolated, RedPacketError

if TYPE_CHECKING:
    from redpacket.operations.model.allowances import Allowance
    from redpacket.operations.model.operators import Action

IS_THERE = "attribute_exists(pk)"
IS_AS_READ = "version = :read_version"
CAN_GIVE_UP = "budget_left_fen >= :given_up"

_ROOT_BYTES = 32
CAN_SPEND = "#status = :on AND ends_at_ms >= :later_ms AND budget_left_fen >= :spent"


class DynamoCampaigns:
    """DynamoDB implementation of CampaignRepository."""

    def __init__(
        self,
        dynamo: Dynamo,
        table: str,
        new_seed: Callable[[int], bytes] = secrets.token_bytes,
        seeds: SeedKeys | None = None,
        transparency_table: str | None = None,
        journal_table: str | None = None,
        approvals_table: str | None = None,
        commitments_table: str | None = None,
    ) -> None:
        self._dynamo = dynamo
        self._table = table
        # Only the function that edits campaigns sets these tables.
        self._transparency = transparency_table
        self._journal = journal_table
        self._approvals = approvals_table
        self._commitments = commitments_table
        self._new_seed = new_seed
        self._seeds = seeds

    def find_campaign(self, campaign_id: str) -> Campaign | None:
        row = self._dynamo.get(self._table, campaign_keys.campaign(campaign_id))
        return campaign_of(row) if row else None

    def create(
        self, campaign: Campaign, action: Action | None = None, spent: Allowance | None = None
    ) -> bool:
        from redpacket.fairness.dynamodb.commitments import note_commitment
        from redpacket.fairness.model.days import CHAIN_LAST_DAY, chain_commitment
        from redpacket.fairness.model.log import Commitment, CommitmentKind, id_hash_of
        from redpacket.lottery.dynamodb.campaign_snapshot import shown_row
        from redpacket.operations.dynamodb.allowances import spend_allowance
        from redpacket.operations.dynamodb.audit_log import note_action

        money: dict[str, Value] = {
            **campaign_keys.campaign(campaign.campaign_id),
            **_listed(campaign),
            "budget_fen": campaign.budget_fen,
            "budget_left_fen": campaign.budget_left_fen,
            "version": campaign.version,
        }
        # Functions that draw cannot write this table, so every day's seed is fixed from here on.
        seed = {**campaign_keys.lottery_seed(campaign.campaign_id), **self._new_root()}
        root = root_of(campaign.campaign_id, seed, self._seeds)
        commitment = chain_commitment(campaign.campaign_id, root, CHAIN_LAST_DAY, campaign.beacon)
        rows = {**plan_row(campaign), **money}, shown_row(campaign, commitment), seed
        noted = note_action(self._journal, action) + spend_allowance(self._approvals, spent)
        written = [put(self._table, row) for row in rows]
        if self._commitments and action:  # only tests create campaigns without an operator
            kind, id_hash = CommitmentKind.CAMPAIGN, id_hash_of(campaign.campaign_id)
            logged = Commitment(kind, id_hash, commitment, action.at_ms)
            written += note_commitment(self._commitments, logged)
        return self._write([*written, *self._drawing(campaign), *noted])

    def edit(
        self,
        campaign: Campaign,
        before: Campaign,
        action: Action | None = None,
        spent: Allowance | None = None,
    ) -> bool:
        from redpacket.lottery.dynamodb.campaign_snapshot import packed_plan
        from redpacket.operations.dynamodb.allowances import spend_allowance
        from redpacket.operations.dynamodb.audit_log import note_action

        change_fen = campaign.budget_fen - before.budget_fen
        planned = plan_row(campaign)
        operation = update(
            self._table,
            campaign_keys.campaign(campaign.campaign_id),
            # Packets spend concurrently, so change the remaining budget by the difference.
            "SET budget_left_fen = budget_left_fen + :change_fen, budget_fen = :budget_fen,"
            f" version = :version, {', '.join(f'#{name} = :{name}' for name in planned)},"
            " list_pk = :list_pk, list_sk = :list_sk",
            condition=f"{IS_AS_READ} AND {CAN_GIVE_UP}",
            **planned,
            **_listed(campaign),
            change_fen=change_fen,
            given_up=-change_fen,
            budget_fen=campaign.budget_fen,
            version=campaign.version,
            read_version=before.version,
        )
        # Some attribute names are reserved words in DynamoDB.
        operation["Update"]["ExpressionAttributeNames"] = {f"#{name}": name for name in planned}
        shown = update(
            self._table,
            campaign_keys.shown(campaign.campaign_id),
            # No version check: a concurrent edit of the plan already fails the update above.
            "SET #plan = :plan ADD version :one",
            condition=IS_THERE,
            plan=packed_plan(campaign),
            one=1,
        )
        shown["Update"]["ExpressionAttributeNames"] = {"#plan": "plan"}
        noted = note_action(self._journal, action) + spend_allowance(self._approvals, spent)
        return self._write([operation, shown, *self._drawing(campaign), *noted])

    def list_packet_ids(self, campaign_id: str, after: str | None, limit: int) -> list[str]:
        first = f"{campaign_keys.CAMPAIGN_PACKET_PREFIX}{after or ''}"
        rows = self._dynamo.query_some(
            self._table,
            limit + 1,
            KeyConditionExpression="pk = :pk AND sk BETWEEN :first AND :last",
            ExpressionAttributeValues=values(
                pk=campaign_keys.campaign(campaign_id)["pk"],
                first=first,
                last=f"{campaign_keys.CAMPAIGN_PACKET_PREFIX}~",
            ),
            ConsistentRead=True,
        )
        ids = [str(row["sk"]).removeprefix(campaign_keys.CAMPAIGN_PACKET_PREFIX) for row in rows]
        return [packet_id for packet_id in ids if packet_id != after][:limit]

    def list_newest_packet_ids(self, campaign_id: str, limit: int) -> list[str]:
        rows = self._dynamo.query_some(
            self._table,
            limit,
            IndexName="by_list",
            KeyConditionExpression="list_pk = :list",
            ExpressionAttributeValues=values(list=campaign_keys.packet_list(campaign_id)),
            ScanIndexForward=False,
        )
        return [str(row["sk"]).removeprefix(campaign_keys.CAMPAIGN_PACKET_PREFIX) for row in rows]

    def _drawing(self, campaign: Campaign) -> list[Operation]:
        """Return the write that makes the beacon job fetch rounds until the campaign ends."""
        if campaign.beacon is None:
            return []
        if self._transparency is None:
            raise InvariantViolated("campaigns have no beacon table")
        row: dict[str, Value] = {
            **fairness_keys.drawing(campaign.ends_at_ms, campaign.campaign_id),
            "starts_at_ms": campaign.starts_at_ms,
            "beacon": str(campaign.beacon),
        }
        return [merge(self._transparency, row)]

    def _new_root(self) -> dict[str, Value]:
        salt = self._new_seed(_ROOT_BYTES)
        return {"sealed": self._seeds.seal(salt).hex()} if self._seeds else {"seed": salt.hex()}

    def _write(self, operations: list[Operation]) -> bool:
        try:
            self._dynamo.transact(operations)
        except TransactionCanceled:
            return False
        return True


def _listed(campaign: Campaign) -> dict[str, Value]:
    place = keys.list_position(campaign.starts_at_ms, campaign.campaign_id)
    return {"list_pk": campaign_keys.CAMPAIGNS, "list_sk": place}


def root_of(campaign_id: str, row: Row, seeds: SeedKeys | None) -> bytes:
    """Return the seed of a campaign's last day; a sealed one needs *seeds* (InvariantViolated)."""
    if "sealed" not in row:
        return bytes.fromhex(str(row["seed"]))
    if seeds is None:
        raise InvariantViolated(f"the seeds of campaign {campaign_id} are sealed")
    return seeds.open(f"campaign {campaign_id}", bytes.fromhex(str(row["sealed"])))


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
    guarded = Guarded(budget, lambda found: _spending_refusal(found, packet.created_at_ms))
    return guarded, put(table, member)


def _spending_refusal(found: Row, now_ms: int) -> RedPacketError:
    if not found:
        return CampaignNotFound("The campaign does not exist.")
    if int(found["ends_at_ms"]) <= now_ms:
        return CampaignEnded("The campaign has ended.")
    if found["status"] != CampaignStatus.ON:
        return CampaignPaused("An operator has paused the campaign.")
    left_fen = int(found["budget_left_fen"])
    return InsufficientFunds(
        f"the campaign's budget has {left_fen} fen left, and the packet takes more"
    )
