"""Repository that creates campaigns with their seeds, and edits campaigns and budgets."""

from __future__ import annotations

import secrets
from collections.abc import Callable

from redpacket.campaigns.dynamodb import keys as campaign_keys
from redpacket.campaigns.dynamodb.campaigns import DynamoCampaigns
from redpacket.campaigns.dynamodb.items import plan_row
from redpacket.campaigns.model import Campaign
from redpacket.fairness.dynamodb.commitments import note_commitment
from redpacket.fairness.model.days import CHAIN_LAST_DAY, chain_commitment
from redpacket.fairness.model.log import Commitment, CommitmentKind, id_hash_of
from redpacket.ledger.dynamodb import keys
from redpacket.lottery.dynamodb import campaign_snapshot as snapshots
from redpacket.lottery.dynamodb.campaign_snapshot import packed_plan, root_of, shown_row
from redpacket.lottery.model.lottery import CampaignSnapshot
from redpacket.operations.dynamodb.allowances import spend_allowance
from redpacket.operations.dynamodb.audit_log import note_action
from redpacket.operations.model.allowances import Allowance
from redpacket.operations.model.operators import Action
from redpacket.packets.dynamodb.windows import edited
from redpacket.packets.model.edited_window import EditedWindow
from redpacket.packets.model.seed_keys import SeedKeys
from redpacket.platform.dynamodb.client import (
    Dynamo,
    Operation,
    TransactionCanceled,
    Value,
    put,
    update,
)

IS_THERE = "attribute_exists(pk)"
IS_AS_READ = "version = :read_version"
CAN_GIVE_UP = "budget_left_fen >= :given_up"

_ROOT_BYTES = 32


class DynamoEditedCampaigns(DynamoCampaigns):
    """Repository through which operators edit campaigns and their budgets."""

    def __init__(
        self,
        dynamo: Dynamo,
        new_seed: Callable[[int], bytes] = secrets.token_bytes,
        seeds: SeedKeys | None = None,
    ) -> None:
        super().__init__(dynamo)
        self._audit_table = dynamo.tables.journal
        self._packets = dynamo.tables.packets
        self._approvals = dynamo.tables.approvals
        self._commitments = dynamo.tables.commitments
        self._new_seed = new_seed
        self._seeds = seeds

    def create(
        self, campaign: Campaign, action: Action | None = None, spent: Allowance | None = None
    ) -> bool:
        """Store a campaign, log *action* and count *spent*; return False after a conflict."""
        money: dict[str, Value] = {
            **campaign_keys.campaign(campaign.campaign_id),
            **_listed(campaign),
            "budget_fen": campaign.budget_fen,
            "budget_left_fen": campaign.budget_left_fen,
            "version": campaign.version,
            "first_starts_at_ms": campaign.starts_at_ms,
        }
        # The draw functions can't write to this table, so this write fixes the seeds of all days.
        seed = {**campaign_keys.lottery_seed(campaign.campaign_id), **self._new_root()}
        root = root_of(campaign.campaign_id, seed, self._seeds)
        commitment = chain_commitment(campaign.campaign_id, root, CHAIN_LAST_DAY)
        rows = {**plan_row(campaign), **money}, shown_row(campaign, commitment), seed
        noted = note_action(self._audit_table, action) + spend_allowance(self._approvals, spent)
        written = [put(self._table, row) for row in rows]
        written.append(self._noted_window(campaign, action))
        if action:  # only tests create campaigns without an operator
            kind, id_hash = CommitmentKind.CAMPAIGN, id_hash_of(campaign.campaign_id)
            logged = Commitment(kind, id_hash, commitment, action.at_ms)
            written += note_commitment(self._commitments, logged)
        return self._write([*written, *noted])

    def edit(
        self,
        campaign: Campaign,
        before: Campaign,
        action: Action | None = None,
        spent: Allowance | None = None,
        snapshot: CampaignSnapshot | None = None,
    ) -> bool:
        """Replace *before*, change the remaining budget by the difference, and log *action*.

        Return False after a concurrent edit, or if too little of the budget remains. An edit of a
        prize or the list after *snapshot* also counts, because new cash may need an approval.
        """
        change_fen = campaign.budget_fen - before.budget_fen
        planned = plan_row(campaign)
        operation = update(
            self._table,
            campaign_keys.campaign(campaign.campaign_id),
            # Packets spend concurrently, so change the remaining budget by the difference.
            "SET budget_left_fen = budget_left_fen + :change_fen, budget_fen = :budget_fen,"
            f" version = :version, {', '.join(f'#{name} = :{name}' for name in planned)},"
            " list_pk = :list_pk, list_sk = :list_sk, first_starts_at_ms = :first_ms",
            condition=f"{IS_AS_READ} AND {CAN_GIVE_UP}",
            **planned,
            **_listed(campaign),
            change_fen=change_fen,
            given_up=-change_fen,
            budget_fen=campaign.budget_fen,
            version=campaign.version,
            read_version=before.version,
            first_ms=min(before.first_starts_at_ms, campaign.starts_at_ms),
        )
        shown = update(
            self._table,
            campaign_keys.shown(campaign.campaign_id),
            "SET #plan = :plan ADD version :one",
            condition=snapshots.IS_AS_READ if snapshot else IS_THERE,
            plan=packed_plan(campaign),
            one=1,
            **(snapshots.read_values(snapshot) if snapshot else {}),
        )
        noted = note_action(self._audit_table, action) + spend_allowance(self._approvals, spent)
        moved = (campaign.starts_at_ms, campaign.ends_at_ms) != (
            before.starts_at_ms,
            before.ends_at_ms,
        )
        if moved or campaign.status is not before.status:
            noted.append(self._noted_window(campaign, action))
        if moved:
            window = EditedWindow(
                campaign.campaign_id,
                campaign.version,
                campaign.starts_at_ms,
                campaign.ends_at_ms,
                old_ends_at_ms=before.ends_at_ms,
            )
            noted.append(edited(self._packets, window, action.at_ms if action else 0))
        return self._write([operation, shown, *noted])

    def _noted_window(self, campaign: Campaign, action: Action | None) -> Operation:
        """Return the write that stores the window and status permanently, for reconciliation."""
        row: dict[str, Value] = {
            **campaign_keys.window(campaign.campaign_id, campaign.version),
            "starts_at_ms": campaign.starts_at_ms,
            "ends_at_ms": campaign.ends_at_ms,
            "set_at_ms": action.at_ms if action else 0,
            "status": campaign.status,
        }
        return put(self._table, row)

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
