"""Deposits of money from outside into an account."""

from __future__ import annotations

from contextlib import suppress

from redpacket.ledger.dynamodb import keys
from redpacket.ledger.dynamodb.posting import post
from redpacket.ledger.dynamodb.requests import find_result, transact_request
from redpacket.ledger.errors import AlreadyPosted
from redpacket.ledger.model import Transfer
from redpacket.operations.dynamodb.allowances import spend_allowance
from redpacket.operations.dynamodb.audit_log import note_action
from redpacket.operations.errors import AllowanceMoved
from redpacket.operations.model.allowances import Allowance
from redpacket.operations.model.operators import Action
from redpacket.platform.dynamodb.client import Dynamo, Guarded, Row, never_refused, put
from redpacket.platform.errors import IdempotencyKeyReused, RedPacketError
from redpacket.platform.idempotency import Request
from redpacket.platform.user import User
from redpacket.users.dynamodb.profiles import note_user


class DynamoDeposits:
    """Deposits of outside money into accounts."""

    def __init__(self, dynamo: Dynamo) -> None:
        self._dynamo = dynamo
        self._accounts = dynamo.tables.accounts
        self._profiles = dynamo.tables.profiles
        self._audit_table = dynamo.tables.journal
        self._approvals = dynamo.tables.approvals

    def find_deposited(self, request: Request) -> str | None:
        """Return the request's transfer id, if it was executed."""
        return find_result(self._dynamo, self._accounts, _deposited_by(request), request)

    def bind(self, request: Request, transfer_id: str) -> None:
        """Store the request of a case's deposit. Raises IdempotencyKeyReused for another body."""
        row = {**_deposited_by(request), "body_hash": request.body_hash, "result_id": transfer_id}
        if not self._dynamo.write(put(self._accounts, row)):
            self.find_deposited(request)

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
        """Post a deposit, once for each request, with *payee*'s host id, *action* and *spent*.

        After one that *is_for_campaigns*, the account only sends campaigns' packets.
        """
        marker = _deposited_by(request)
        profile_rows = note_user(self._profiles, payee) if payee else []
        beside = profile_rows + note_action(self._audit_table, action)
        posted = {**keys.posted(transfer.transfer_id), "body_hash": request.body_hash}
        rows: list[Guarded[RedPacketError]] = [
            # First, so that it names the refusal of a repeat.
            Guarded(put(self._accounts, posted), lambda row: _posted_before(row, request))
        ]
        rows += [Guarded(row, never_refused) for row in beside]
        allowed = spend_allowance(self._approvals, spent)
        rows += [Guarded(row, lambda _: AllowanceMoved()) for row in allowed]
        marked = transfer.credit if is_for_campaigns else None
        rows += post(self._accounts, [transfer], for_campaigns=marked)
        with suppress(AlreadyPosted):
            transact_request(
                self._dynamo, self._accounts, marker, request, transfer.transfer_id, rows
            )


def _posted_before(row: Row, request: Request) -> RedPacketError:
    is_same = row["body_hash"] == request.body_hash
    return AlreadyPosted() if is_same else IdempotencyKeyReused()


def _deposited_by(request: Request) -> dict[str, str]:
    return keys.request(request.user_id, "deposit", request.key_hash)
