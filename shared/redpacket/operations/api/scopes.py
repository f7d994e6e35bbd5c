"""Scopes of operator tokens, which API Gateway and the handlers check."""

from __future__ import annotations

from redpacket.operations.model.operators import Duty, Operator
from redpacket.platform.errors import Forbidden
from redpacket.platform.http.request import HttpRequest

ADMIN_SCOPE = "hongbao/admin"

OPERATE_SCOPE = "hongbao/operate"
"""Scope for daily operation, such as campaigns, prizes, packets, chats and switches."""

TREASURY_SCOPE = "hongbao/treasury"
"""Scope for money, such as deposits, returned payments, budgets, cash stock and approvals."""

AUDIT_SCOPE = "hongbao/audit"
"""Scope for audits and for runs of the reconciliation; otherwise read-only."""

ADMINS = (ADMIN_SCOPE,)
OPERATORS = (ADMIN_SCOPE, OPERATE_SCOPE)
TREASURERS = (ADMIN_SCOPE, TREASURY_SCOPE)
EDITORS = (ADMIN_SCOPE, OPERATE_SCOPE, TREASURY_SCOPE)
"""Scopes that permit edits of plans; the use case checks the fields that each duty may change."""
TREASURY_READERS = (ADMIN_SCOPE, TREASURY_SCOPE, AUDIT_SCOPE)
AUDITORS = (ADMIN_SCOPE, AUDIT_SCOPE)
WATCHERS = (ADMIN_SCOPE, OPERATE_SCOPE, TREASURY_SCOPE, AUDIT_SCOPE)

_DUTIES = {
    ADMIN_SCOPE: frozenset(Duty),
    OPERATE_SCOPE: frozenset({Duty.OPERATE}),
    TREASURY_SCOPE: frozenset({Duty.TREASURY}),
    AUDIT_SCOPE: frozenset({Duty.AUDIT}),
}


def refuse_operators(request: HttpRequest) -> None:
    """Raise Forbidden for an operator who may spend only campaigns' money."""
    if OPERATE_SCOPE in request.scopes and request.scopes.isdisjoint(TREASURERS):
        raise Forbidden(f"Tokens with the scope {OPERATE_SCOPE} can spend money only on campaigns.")


def operator_of(request: HttpRequest) -> Operator:
    """Return the request's operator, with the duties that the token's scopes grant."""
    duties = (_DUTIES.get(scope, frozenset[Duty]()) for scope in request.scopes)
    return Operator(request.user, frozenset[Duty]().union(*duties))
