"""Deposits: money that comes into an account from outside."""

from __future__ import annotations

from redpacket.adapters import keys
from redpacket.adapters.dynamo import items
from redpacket.adapters.dynamo.actions import note_action
from redpacket.adapters.dynamo.client import Dynamo, Guarded, never_refused
from redpacket.adapters.dynamo.posting import post
from redpacket.adapters.dynamo.requests import find_result, transact_request
from redpacket.domain.errors import RedPacketError
from redpacket.domain.ledger import Transfer
from redpacket.domain.operators import Action
from redpacket.domain.packet import Person
from redpacket.ports.accounts import Request


class DynamoDeposits:
    """Implements Deposits."""

    def __init__(
        self,
        dynamo: Dynamo,
        accounts_table: str,
        profiles_table: str,
        journal_table: str | None = None,
    ) -> None:
        self._dynamo = dynamo
        self._accounts = accounts_table
        self._profiles = profiles_table
        self._journal = journal_table

    def find_deposited(self, request: Request) -> str | None:
        return find_result(self._dynamo, self._accounts, _deposited_by(request), request)

    def deposit(
        self,
        transfer: Transfer,
        request: Request,
        payee: Person | None = None,
        action: Action | None = None,
    ) -> None:
        marker = _deposited_by(request)
        people = items.note_person(self._profiles, payee) if payee else []
        beside = people + note_action(self._journal, action)
        rows: list[Guarded[RedPacketError]] = [Guarded(row, never_refused) for row in beside]
        rows += post(self._accounts, [transfer])
        transact_request(self._dynamo, self._accounts, marker, request, transfer.transfer_id, rows)


def _deposited_by(request: Request) -> dict[str, str]:
    return keys.request(request.user_id, "deposit", request.key_hash)
