"""DynamoDB writes for deposits and for moves of campaign money."""

from __future__ import annotations

from redpacket.ledger.dynamodb import keys
from redpacket.ledger.dynamodb.posting import post
from redpacket.ledger.dynamodb.requests import find_result, transact_request
from redpacket.ledger.model import Transfer, TransferKind
from redpacket.operations.dynamodb.allowances import spend_allowance
from redpacket.operations.dynamodb.audit_log import note_action
from redpacket.operations.errors import AllowanceMoved
from redpacket.operations.model.allowances import Allowance
from redpacket.operations.model.operators import Action
from redpacket.platform.dynamodb.client import Dynamo, Guarded, never_refused
from redpacket.platform.errors import RedPacketError
from redpacket.platform.idempotency import Request
from redpacket.platform.user import User
from redpacket.users.dynamodb.profiles import note_user


class DynamoDeposits:
    """Writer for external deposits and moves of campaign money between accounts."""

    def __init__(self, dynamo: Dynamo) -> None:
        self._dynamo = dynamo
        self._accounts = dynamo.tables.accounts
        self._profiles = dynamo.tables.profiles
        self._audit_table = dynamo.tables.journal
        self._approvals = dynamo.tables.approvals

    def find_posted(self, kind: TransferKind, request: Request) -> str | None:
        """Return the id of the transfer that the request posted, or None."""
        return find_result(self._dynamo, self._accounts, kind, request)

    def is_new(self, account: str) -> bool:
        """Return whether an account has never been used."""
        return self._dynamo.get(self._accounts, keys.account(account)) is None

    def has_received(self, account: str) -> bool:
        """Return whether an account received shares; if so, it may hold the user's own money."""
        row = self._dynamo.get(self._accounts, keys.account(account)) or {}
        return any(name.startswith("received_") for name in row)

    def bind(self, request: Request, transfer_id: str) -> None:
        """Store *transfer_id*, the id of the case's deposit, as the request's result.

        Raises IdempotencyKeyReused if the body differs.
        """
        kind = TransferKind.DEPOSIT
        transact_request(self._dynamo, self._accounts, kind, request, transfer_id, [])

    def deposit(
        self,
        transfer: Transfer,
        request: Request,
        payee: User | None = None,
        action: Action | None = None,
        spent: Allowance | None = None,
        *,
        is_for_campaigns: bool = False,
    ) -> None:
        """Post a transfer once per request, and store *payee*'s host id, *action* and *spent*.

        If *is_for_campaigns*, the account can send only campaign packets from then on.
        """
        profile_rows = note_user(self._profiles, payee) if payee else []
        beside = profile_rows + note_action(self._audit_table, action)
        rows: list[Guarded[RedPacketError]] = [Guarded(row, never_refused) for row in beside]
        allowed = spend_allowance(self._approvals, spent)
        rows += [Guarded(row, lambda _: AllowanceMoved()) for row in allowed]
        marked = transfer.credit if is_for_campaigns else None
        rows += post(self._accounts, [transfer], for_campaigns=marked)
        transact_request(
            self._dynamo, self._accounts, transfer.kind, request, transfer.transfer_id, rows
        )
