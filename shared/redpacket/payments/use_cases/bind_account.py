"""Binding of a user's gateway account by a code from the gateway."""

from __future__ import annotations

from redpacket.payments.errors import CodeInvalid
from redpacket.payments.login_ports import Logins
from redpacket.payments.model.provider import ExternalAccount
from redpacket.payments.model.provider_name import ProviderName
from redpacket.payments.withdrawal_ports import BoundPayees, Payee
from redpacket.platform.runtime import Clock


def bind_account(
    user_id: str,
    channel: ProviderName,
    code: str,
    *,
    logins: Logins,
    payees: BoundPayees,
    clock: Clock,
    first_wait_ms: int,
) -> Payee:
    """Bind the account of a code, replacing the user's previous one.

    Withdrawals to a first account open after *first_wait_ms*, so an account that an attacker linked
    receives nothing at once. Raises CodeInvalid, OpenidInUse, Unavailable, which may have used up
    the code.
    """
    account = find_account(code, logins=logins)
    return payees.bind(user_id, channel, account, clock.now_ms(), first_wait_ms)


def find_account(code: str, *, logins: Logins) -> ExternalAccount:
    """Return the account of a code. Raises CodeInvalid, Unavailable."""
    account = logins.find_account(code)
    if account is None:
        raise CodeInvalid("The code is wrong, used or expired. Fetch a new code and try again.")
    return account
