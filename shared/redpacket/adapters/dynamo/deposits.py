"""Deposits of money from outside into an account."""

from __future__ import annotations

from redpacket.adapters.dynamo import items, keys
from redpacket.adapters.dynamo.actions import note_action
from redpacket.adapters.dynamo.approvals import spend_allowance
from redpacket.adapters.dynamo.client import Dynamo, Guarded, never_refused
from redpacket.adapters.dynamo.posting import post
from redpacket.adapters.dynamo.requests import find_result, transact_request
from redpacket.domain.approvals import Allowance
from redpacket.domain.errors import AllowanceMoved, RedPacketError
from redpacket.domain.ledger import Transfer
from redpacket.domain.operators import Action
from redpacket.domain.packet import Person
from redpacket.ports.accounts import Request


class DynamoDeposits:
    """DynamoDB implementation of Deposits."""

    def __init__(
        self,
        dynamo: Dynamo,
        accounts_table: str,
        profiles_table: str,
        journal_table: str | None = None,
        approvals_table: str | None = None,
    ) -> None:
        self._dynamo = dynamo
        self._accounts = accounts_table
        self._profiles = profiles_table
        self._journal = journal_table
        self._approvals = approvals_table

    def find_deposited(self, request: Request) -> str | None:
        return find_result(self._dynamo, self._accounts, _deposited_by(request), request)

    def deposit(
        self,
        transfer: Transfer,
        request: Request,
        payee: Person | None = None,
        action: Action | None = None,
        spent: Allowance | None = None,
        *,
        is_for_campaigns: bool = False,
    ) -> None:
        marker = _deposited_by(request)
        people = items.note_person(self._profiles, payee) if payee else []
        beside = people + note_action(self._journal, action)
        rows: list[Guarded[RedPacketError]] = [Guarded(row, never_refused) for row in beside]
        allowed = spend_allowance(self._approvals, spent)
        rows += [
            Guarded(row, lambda _: AllowanceMoved("others moved more meanwhile")) for row in allowed
        ]
        marked = transfer.credit if is_for_campaigns else None
        rows += post(self._accounts, [transfer], for_campaigns=marked)
        transact_request(self._dynamo, self._accounts, marker, request, transfer.transfer_id, rows)


def _deposited_by(request: Request) -> dict[str, str]:
    return keys.request(request.user_id, "deposit", request.key_hash)
