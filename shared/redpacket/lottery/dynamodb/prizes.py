"""Repository of prizes, which are packed into the campaign's row, and of their stock."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum, auto
from typing import TYPE_CHECKING, TypeAlias

from redpacket.campaigns.dynamodb import keys as campaign_keys
from redpacket.fairness.model.days import day_seed
from redpacket.ledger.dynamodb.requests import find_result, transact_once
from redpacket.lottery.dynamodb.campaign_snapshot import (
    IS_AS_READ,
    note_of,
    note_row,
    packed_prizes,
    read_values,
    root_of,
    snapshot_of,
)
from redpacket.lottery.dynamodb.items import (
    prize_of,
    prize_text,
)
from redpacket.lottery.dynamodb.unit_stock import UnitStock
from redpacket.lottery.dynamodb.winners import decide
from redpacket.lottery.model.lottery import (
    CampaignSnapshot,
    PageNote,
    Prize,
    PrizeStock,
)
from redpacket.lottery.model.winners import Winner
from redpacket.operations.dynamodb.audit_log import note_action
from redpacket.operations.model.operators import Action
from redpacket.packets.model.seed_keys import SeedKeys
from redpacket.platform.dynamodb.client import (
    Dynamo,
    Guarded,
    Operation,
    Row,
    never_refused,
    update,
)
from redpacket.platform.errors import InvariantViolated, RedPacketError
from redpacket.platform.idempotency import Request

if TYPE_CHECKING:
    from redpacket.ledger.model import Transfer
    from redpacket.operations.model.allowances import Allowance
    from redpacket.packets.model.packet import Packet

IS_THERE = "attribute_exists(pk)"

_ROUTE = "stock"


Backing: TypeAlias = "tuple[Packet, Transfer, Action]"
"""New packet for a cash prize, with the transfer that funds it and its audit log entry."""


class _NotPut(Enum):
    """Reason for rejecting a prize."""

    EDITED = auto()


class DynamoPrizes:
    """Repository of prizes: snapshots for draws, stock, seeds, and notes for users' pages."""

    def __init__(self, dynamo: Dynamo, seeds: SeedKeys | None = None) -> None:
        self._dynamo = dynamo
        self._campaigns = dynamo.tables.campaigns
        self._draws = dynamo.tables.draws
        self._packets = dynamo.tables.packets
        self._audit_table = dynamo.tables.journal
        self._seeds = seeds

    def list_prizes(self, campaign_id: str) -> tuple[Prize, ...]:
        """Return every prize of a campaign, sorted by id."""
        snapshot = self.find_snapshot(campaign_id)
        return snapshot.prizes if snapshot else ()

    def find_snapshot(self, campaign_id: str) -> CampaignSnapshot | None:
        """Return the campaign with its prizes and version."""
        row = self._dynamo.get(self._campaigns, campaign_keys.shown(campaign_id))
        return snapshot_of(row) if row else None

    def find_page(self, campaign_id: str) -> tuple[CampaignSnapshot, PageNote] | None:
        """Return the snapshot and its page note, with an eventually consistent read."""
        row = self._dynamo.get(self._campaigns, campaign_keys.shown(campaign_id), is_strong=False)
        return (snapshot_of(row), note_of(row)) if row else None

    def note_page(self, campaign_id: str, note: PageNote) -> None:
        """Store *note* without a new snapshot version."""
        row = note_row(note)
        changes = ", ".join(f"{name} = :{name}" for name in row)
        key = campaign_keys.shown(campaign_id)
        self._dynamo.update(self._campaigns, key, f"SET {changes}", condition=IS_THERE, **row)

    def put_prize(
        self,
        prize: Prize,
        seen: CampaignSnapshot,
        action: Action | None = None,
        *,
        request: Request | None = None,
        forfeited: Winner | None = None,
        backing: Backing | None = None,
        spent: Allowance | None = None,
    ) -> Prize | None:
        """Create or replace a prize, increment the snapshot's version, and log *action*.

        The same transaction funds *backing*, counts *spent*, and stores *forfeited*'s decision.
        Return None and write nothing if the campaign differs from *seen* or the unit was decided.
        With a *request*, run once; a retry returns the first result. Raises IdempotencyKeyReused,
        Busy, AllowanceMoved, and the errors of funding.
        """
        # Import lazily: LotteryFunction also loads this module, and only edits move money.
        from redpacket.operations.dynamodb.allowances import spend_allowance
        from redpacket.operations.errors import AllowanceMoved
        from redpacket.packets.dynamodb.funding import DynamoFunding

        after = {each.prize_id: each for each in (*seen.prizes, prize)}
        writes: list[Guarded[object]] = [
            Guarded(_replace_prizes(self._campaigns, seen, after), lambda _: _NotPut.EDITED)
        ]
        if forfeited and forfeited.decision:
            unit = decide(self._draws, forfeited, forfeited.decision)
            writes.append(Guarded(unit, lambda _: _NotPut.EDITED))
        noted = note_action(self._audit_table, action)
        counted = spend_allowance(self._dynamo.tables.approvals, spent)
        writes += [Guarded(row, lambda _: AllowanceMoved()) for row in counted]
        if backing:
            packet, transfer, funded = backing
            noted += note_action(self._audit_table, funded)
            rows = DynamoFunding(self._dynamo).writes(packet, transfer)
            writes += [Guarded(each.operation, each.refusal) for each in rows]
        writes += [Guarded(row, never_refused) for row in noted]
        return self._put(prize, writes, request)

    def find_put(self, request: Request) -> Prize | None:
        """Return the prize that *request* stored, if it has run."""
        text = find_result(self._dynamo, self._packets, _ROUTE, request)
        return prize_of(text) if text else None

    def list_stock(self, prizes: Sequence[Prize], day: str) -> list[PrizeStock]:
        """Count the prizes' won units; after Unavailable, the next call resumes the count."""
        stock = UnitStock(self._dynamo)
        return [stock.count(prize, day) for prize in prizes]

    def day_seed(self, campaign_id: str, day: str) -> bytes:
        """Return the day's secret seed from the campaign's fixed chain."""
        return day_seed(root_of(campaign_id, self._seed_row(campaign_id), self._seeds), day)

    def find_secret_version(self, campaign_id: str) -> int | None:
        """Return the version of the key that sealed a campaign's seeds, or None if unsealed."""
        row = self._seed_row(campaign_id)
        return bytes.fromhex(str(row["sealed"]))[0] if "sealed" in row else None

    def _seed_row(self, campaign_id: str) -> Row:
        row = self._dynamo.get(self._campaigns, campaign_keys.lottery_seed(campaign_id))
        if row is None:
            raise InvariantViolated(f"campaign {campaign_id} has no seed")
        return row

    def _put(
        self,
        prize: Prize,
        writes: list[Guarded[object]],
        request: Request | None,
    ) -> Prize | None:
        if request is None:
            # Use a transaction even for one row, so that conflicts are retried.
            # A second run finds a newer version and writes nothing.
            refused: object = self._dynamo.attempt(writes)
        else:
            text = prize_text(prize)
            refused = transact_once(self._dynamo, self._packets, _ROUTE, request, text, writes)
        if isinstance(refused, RedPacketError):
            raise refused
        if refused is _NotPut.EDITED:
            return None
        return prize_of(refused) if isinstance(refused, str) else prize


def _replace_prizes(
    campaigns_table: str, snapshot: CampaignSnapshot, after: dict[str, Prize]
) -> Operation:
    return update(
        campaigns_table,
        campaign_keys.shown(snapshot.campaign.campaign_id),
        "SET prizes = :prizes ADD version :one",
        condition=IS_AS_READ,
        prizes=packed_prizes(tuple(after.values())),
        one=1,
        **read_values(snapshot),
    )
