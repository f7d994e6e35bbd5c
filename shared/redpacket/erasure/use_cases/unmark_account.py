"""Removal of an account's campaign mark; the owner may then use the account for anything."""

from __future__ import annotations

from typing import TYPE_CHECKING

from redpacket.erasure.use_cases.erase_user import check_settled
from redpacket.operations.model.operators import Action, ActionKind, user_subject
from redpacket.platform.errors import Contended, Forbidden
from redpacket.platform.runtime import Clock
from redpacket.platform.user import User

if TYPE_CHECKING:
    from redpacket.erasure.dynamodb.holdings import DynamoHoldings


def unmark_account(user_id: str, operator: User, *, holdings: DynamoHoldings, clock: Clock) -> None:
    """Remove the campaign mark of an empty account; a repeated call is harmless.

    The user must have no open packet, because it would later refund campaign money to the unmarked
    account. Raises Forbidden for the operator's own account, AccountNotEmpty, Unavailable.
    """
    if user_id == operator.user_id:
        raise Forbidden("You can't unmark your own account. Ask another operator.")
    standing, *_ = check_settled(user_id, holdings)
    action = Action(
        operator, ActionKind.CAMPAIGN_MARK_REMOVED, user_subject(user_id), clock.now_ms()
    )
    if not holdings.unmark(user_id, standing.sent_counts, action):
        raise Contended
