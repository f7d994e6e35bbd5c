"""Payees for one request; in the host's wallet, only the token's user has an account."""

from __future__ import annotations

from redpacket.ledger.provider_name import ProviderName
from redpacket.payments.model.provider import Payee
from redpacket.payments.ports import Payees
from redpacket.payments.sealed_accounts import Accounts
from redpacket.platform.user import User


class TokenPayees:
    """Payees implementation for one user; providers other than the host use bound accounts."""

    def __init__(self, user: User, host_accounts: Accounts, bound: Payees) -> None:
        self._user = user
        self._host_accounts = host_accounts
        self._bound = bound

    def find(self, user_id: str, channel: ProviderName) -> Payee | None:
        if channel is not ProviderName.HOST:
            return self._bound.find(user_id, channel)
        if self._user.host_id is None or user_id != self._user.user_id:
            return None
        return Payee(self._host_accounts.seal(self._user.host_id, user_id))
