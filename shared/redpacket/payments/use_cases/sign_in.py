"""Sign-in by a gateway's code, for a token from our issuer."""

from __future__ import annotations

from collections.abc import Callable

from redpacket.payments.errors import OpenidInUse
from redpacket.payments.login_ports import Logins, TokenIssuer
from redpacket.payments.model.provider import ExternalAccount
from redpacket.payments.model.provider_name import ProviderName
from redpacket.payments.use_cases.bind_account import find_account
from redpacket.payments.withdrawal_ports import BoundPayees
from redpacket.platform.errors import Unavailable
from redpacket.platform.runtime import Clock, EventLogger


def sign_in(
    code: str,
    channel: ProviderName,
    *,
    logins: Logins,
    issuer: TokenIssuer,
    payees: BoundPayees,
    user_id_of: Callable[[str], str],
    clock: Clock,
    logger: EventLogger,
) -> tuple[str, int]:
    """Return a token and its expiry in ms, and bind the account if both are free.

    Raises CodeInvalid, Unavailable.
    """
    account = find_account(code, logins=logins)
    user_id = user_id_of(issuer.subject_of(account))
    try:
        _bind_first(user_id, channel, account, payees=payees, clock=clock)
    except Unavailable as error:
        # The code is used up, and the token works without the binding. The next sign-in retries.
        logger.failure("sign_in_not_bound", error)
    return issuer.issue(account, clock.now_ms())


def _bind_first(
    user_id: str,
    channel: ProviderName,
    account: ExternalAccount,
    *,
    payees: BoundPayees,
    clock: Clock,
) -> None:
    if payees.find(user_id, channel):
        return
    try:
        payees.bind(user_id, channel, account, clock.now_ms())
    except OpenidInUse:
        return
