"""Whom a request may pay: at the host's wallet a user is who their token says."""

from __future__ import annotations

from redpacket.adapters.payments.accounts import Accounts
from redpacket.domain.gateway import Channel
from redpacket.domain.packet import Person
from redpacket.ports.withdrawals import Payee, Payees


class TokenPayees:
    """Implements Payees for the one user who asks; accounts elsewhere are those they bound."""

    def __init__(self, user: Person, host_accounts: Accounts, bound: Payees) -> None:
        self._user = user
        self._host_accounts = host_accounts
        self._bound = bound

    def find(self, user_id: str, channel: Channel) -> Payee | None:
        if channel is not Channel.HOST:
            return self._bound.find(user_id, channel)
        if self._user.host_id is None or user_id != self._user.user_id:
            return None
        return Payee(self._host_accounts.seal(self._user.host_id))
