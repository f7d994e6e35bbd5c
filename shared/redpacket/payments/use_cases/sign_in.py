"""Sign-in by a provider's code, for a token from our issuer."""

from __future__ import annotations

from collections.abc import Callable

from redpacket.ledger.provider_name import ProviderName
from redpacket.payments.errors import OpenidInUse
from redpacket.payments.model.provider import ExternalAccount
from redpacket.payments.ports import required
from redpacket.payments.use_cases.bind_account import LoginPorts, find_account
from redpacket.platform.errors import Unavailable


def sign_in(
    code: str, channel: ProviderName, user_id_of: Callable[[str], str], *, ports: LoginPorts
) -> tuple[str, int]:
    """Return a token and its expiry in ms, and bind the account if both are free.

    Raises ChannelUnavailable, CodeInvalid, Unavailable.
    """
    issuer = required(ports.issuers, channel)
    account = find_account(code, channel, ports=ports)
    user_id = user_id_of(issuer.subject_of(account))
    try:
        _bind_first(user_id, channel, account, ports)
    except Unavailable as error:
        # The code is used up, and the token works without the binding. The next sign-in retries.
        ports.logger.failure("sign_in_not_bound", error)
    return issuer.issue(account, ports.clock.now_ms())


def _bind_first(
    user_id: str, channel: ProviderName, account: ExternalAccount, ports: LoginPorts
) -> None:
    if ports.payees.find(user_id, channel):
        return
    try:
        ports.payees.bind(user_id, channel, account, ports.clock.now_ms())
    except OpenidInUse:
        return
