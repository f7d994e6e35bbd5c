"""Transaction that stores a new packet and, unless it is unpaid, funds it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from redpacket.campaigns.dynamodb import keys as campaign_keys
from redpacket.campaigns.errors import CampaignEnded, CampaignNotFound, CampaignPaused
from redpacket.campaigns.model import CampaignStatus
from redpacket.fairness.dynamodb.commitments import note_commitment
from redpacket.fairness.model.log import Commitment, CommitmentKind, id_hash_of
from redpacket.ledger.dynamodb import keys
from redpacket.ledger.dynamodb.books import entry_row
from redpacket.ledger.dynamodb.posting import (
    HOLDS_ENOUGH,
    IS_FREE,
    exists,
    is_not_covered,
    kept_sums,
    post,
)
from redpacket.ledger.dynamodb.requests import find_result, transact_request
from redpacket.ledger.errors import InsufficientFunds
from redpacket.ledger.model import Transfer, TransferKind, entries, user_account
from redpacket.operations.errors import AllowanceMoved
from redpacket.operations.model.operators import Action
from redpacket.packets.dynamodb import items
from redpacket.packets.model.packet import Packet, PacketStatus
from redpacket.platform.dynamodb.client import (
    Dynamo,
    Guarded,
    Operation,
    Row,
    Value,
    never_refused,
    put,
    update,
)
from redpacket.platform.errors import Contended, RateLimited, RedPacketError
from redpacket.platform.idempotency import Request
from redpacket.users.dynamodb.profiles import note_user

if TYPE_CHECKING:
    from redpacket.operations.model.allowances import Allowance

HOLDS_OWN = f"{HOLDS_ENOUGH} AND {IS_FREE}"
HAS_ROOM = (
    # AND binds before OR.
    f"{HOLDS_OWN} AND attribute_not_exists(open_count) OR {HOLDS_OWN} AND open_count < :open_max"
)
CAN_SPEND = (
    "#status = :on AND budget_left_fen >= :spent"
    # A packet that was built before an edit of the window would keep the old window.
    " AND starts_at_ms <= :starts_ms AND ends_at_ms >= :ends_ms"
)
HAS_ROOM_UNPAID = (
    f"{IS_FREE} AND attribute_not_exists(open_count) OR {IS_FREE} AND open_count < :open_max"
)

OPEN_RETRY_S = 60
"""Seconds until a sender with too many open packets may retry; sweeps run every minute."""


class DynamoFunding:
    """DynamoDB implementation of Funding; *open_packets_max* is None if there is no limit."""

    def __init__(self, dynamo: Dynamo, open_packets_max: int | None = None) -> None:
        self._dynamo = dynamo
        self._accounts = dynamo.tables.accounts
        self._packets = dynamo.tables.packets
        self._campaigns = dynamo.tables.campaigns
        self._profiles = dynamo.tables.profiles
        self._audit_table = dynamo.tables.journal
        self._commitments = dynamo.tables.commitments
        self._approvals = dynamo.tables.approvals
        self._open_packets_max = open_packets_max

    def fund(
        self,
        packet: Packet,
        transfer: Transfer,
        request: Request,
        action: Action | None = None,
        spent: Allowance | None = None,
    ) -> str:
        rows = self.writes(packet, transfer)
        if action:
            # Import lazily: most packets belong to users and have no operator.
            from redpacket.operations.dynamodb.audit_log import note_action

            logged = note_action(self._audit_table, action)
            rows += [Guarded(row, never_refused) for row in logged]
        if spent:
            from redpacket.operations.dynamodb.allowances import spend_allowance

            counted = spend_allowance(self._approvals, spent)
            rows += [Guarded(row, lambda _: AllowanceMoved()) for row in counted]
        first_id = transact_request(
            self._dynamo, self._packets, TransferKind.SEND, request, packet.packet_id, rows
        )
        return first_id or packet.packet_id

    def writes(self, packet: Packet, transfer: Transfer) -> list[Guarded[RedPacketError]]:
        """Return the writes that store the packet and move its money."""
        rows: list[Guarded[RedPacketError]] = []
        made = [put(self._packets, items.packet_row(packet))]
        if packet.payment_id:
            # Map the payment's number to the packet now, because the payment starts later, if ever.
            made.append(put(self._packets, items.payment_packet_row(packet)))
        # Prizes are funded outside the budget and need no separate commitment.
        if not packet.rules.prize_id:
            if campaign_id := packet.rules.campaign_id:
                budget, member = _spend(self._campaigns, packet, campaign_id)
                rows.append(budget)
                made.append(member)
            made += note_commitment(self._commitments, _commitment_of(packet))
        rows += [Guarded(row, exists) for row in made]
        noted = note_user(self._profiles, packet.sender)
        rows += [Guarded(row, never_refused) for row in noted]
        if packet.status is PacketStatus.UNPAID:
            # An unpaid packet has no money, so only count it as open.
            rows.append(Guarded(self._open_unpaid(packet), self._open_refusal))
        elif packet.counts_as_open:
            posted = [put(self._accounts, entry_row(entry)) for entry in entries(transfer)]
            rows += [Guarded(row, exists) for row in posted]
            rows.append(Guarded(self._open(transfer), self._open_refusal))
        else:
            rows += post(self._accounts, [transfer])
        return rows

    def find_sent(self, request: Request) -> str | None:
        return find_result(self._dynamo, self._packets, TransferKind.SEND, request)

    def _open(self, transfer: Transfer) -> Operation:
        account, open_max = transfer.debit, self._open_packets_max
        sums = kept_sums([transfer])
        added = {"balance_fen": -transfer.amount_fen, "open_count": 1, **sums}
        return update(
            self._accounts,
            keys.account(account),
            "ADD " + ", ".join(f"{name} :{name}" for name in added),
            condition=HOLDS_OWN if open_max is None else HAS_ROOM,
            needed=transfer.amount_fen,
            **added,
            **({} if open_max is None else {"open_max": open_max}),
        )

    def _open_refusal(self, row: Row) -> RedPacketError:
        open_max = self._open_packets_max
        if open_max is not None and int(row.get("open_count", 0)) >= open_max:
            return RateLimited("You have too many open packets. Wait until one ends.", OPEN_RETRY_S)
        return is_not_covered(row)

    def _open_unpaid(self, packet: Packet) -> Operation:
        """Return the update that counts an unpaid packet as open and moves no money."""
        open_max = self._open_packets_max
        return update(
            self._accounts,
            keys.account(user_account(packet.sender.user_id)),
            "ADD open_count :one, unpaid_count :one",
            condition=IS_FREE if open_max is None else HAS_ROOM_UNPAID,
            one=1,
            **({} if open_max is None else {"open_max": open_max}),
        )


def _commitment_of(packet: Packet) -> Commitment:
    return Commitment(
        CommitmentKind.PACKET,
        id_hash_of(packet.packet_id),
        packet.terms.commitment,
        packet.created_at_ms,
    )


def _spend(
    table: str, packet: Packet, campaign_id: str
) -> tuple[Guarded[RedPacketError], Operation]:
    """Return the writes that debit the campaign's budget and add the packet to the campaign."""
    spent_fen = packet.terms.total_fen
    budget = update(
        table,
        campaign_keys.campaign(campaign_id),
        "ADD budget_left_fen :change_fen",
        condition=CAN_SPEND,
        change_fen=-spent_fen,
        spent=spent_fen,
        starts_ms=packet.starts_at_ms,
        ends_ms=max(packet.expires_at_ms, packet.created_at_ms + 1),
        on=CampaignStatus.ON,
    )
    member: dict[str, Value] = {
        **campaign_keys.campaign_packet(campaign_id, packet.packet_id),
        "list_pk": campaign_keys.packet_list(campaign_id),
        "list_sk": keys.list_position(packet.created_at_ms, packet.packet_id),
        "total_fen": spent_fen,
        "created_at_ms": packet.created_at_ms,
    }
    return Guarded(budget, lambda row: _spending_refusal(row, packet)), put(table, member)


def _spending_refusal(row: Row, packet: Packet) -> RedPacketError:
    if not row:
        return CampaignNotFound()
    starts_at_ms, ends_at_ms = int(row["starts_at_ms"]), int(row["ends_at_ms"])
    if ends_at_ms <= packet.created_at_ms:
        return CampaignEnded()
    if row["status"] != CampaignStatus.ON:
        return CampaignPaused()
    if starts_at_ms > packet.starts_at_ms or ends_at_ms < packet.expires_at_ms:
        return Contended("the campaign's window was edited meanwhile")
    left_fen = int(row["budget_left_fen"])
    return InsufficientFunds(
        f"The campaign's budget has {left_fen} fen left, less than the packet takes."
    )
