"""Sign in by a gateway: a token of our own issuer for whom a code belongs to."""

from __future__ import annotations

from collections.abc import Callable

from redpacket.domain.errors import OpenidInUse, Unavailable
from redpacket.domain.gateway import Channel, OutsideAccount
from redpacket.flows.payments.bind_account import find_account
from redpacket.ports.logins import Logins, TokenIssuer
from redpacket.ports.runtime import Clock, Journal
from redpacket.ports.withdrawals import BoundPayees


def sign_in(
    code: str,
    channel: Channel,
    *,
    logins: Logins,
    issuer: TokenIssuer,
    payees: BoundPayees,
    user_id_of: Callable[[str], str],
    clock: Clock,
    journal: Journal,
) -> tuple[str, int]:
    """Return a token, and when it expires, in ms; bind the account to its user if it is free.

    *user_id_of* makes the user's id of their token's subject. Raises CodeInvalid, Unavailable.
    """
    account = find_account(code, logins=logins)
    user_id = user_id_of(issuer.subject_of(account))
    try:
        _bind_first(user_id, channel, account, payees=payees, clock=clock)
    except Unavailable as error:
        # The code is used up, and the token does not need the binding: the next one makes it.
        journal.failure("sign_in_not_bound", error)
    return issuer.issue(account, clock.now_ms())


def _bind_first(
    user_id: str, channel: Channel, account: OutsideAccount, *, payees: BoundPayees, clock: Clock
) -> None:
    """Bind the account of somebody who has none; a user's own choice of another one stays."""
    if payees.find(user_id, channel):
        return
    try:
        payees.bind(user_id, channel, account, clock.now_ms())
    except OpenidInUse:
        # Somebody who signs in otherwise has bound it: the money stays on its way to them.
        return
