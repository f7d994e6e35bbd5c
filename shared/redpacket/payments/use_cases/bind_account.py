"""Binding of a user's provider account by a code from the provider."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from redpacket.ledger.provider_name import ProviderName
from redpacket.payments.errors import CodeInvalid
from redpacket.payments.model.provider import ExternalAccount, Payee
from redpacket.payments.ports import Logins, TokenIssuer, required
from redpacket.platform.runtime import Clock, EventLogger

if TYPE_CHECKING:
    from redpacket.payments.dynamodb.payees import DynamoPayees


@dataclass(frozen=True, slots=True)
class LoginPorts:
    """Dependencies of sign-in and linking; *first_wait_ms* delays payouts to a first account."""

    logins: Mapping[ProviderName, Logins]
    issuers: Mapping[ProviderName, TokenIssuer]
    payees: DynamoPayees
    clock: Clock
    logger: EventLogger
    first_wait_ms: int


def bind_account(user_id: str, channel: ProviderName, code: str, *, ports: LoginPorts) -> Payee:
    """Bind the account of a code, replacing the user's previous one.

    Withdrawals to a first account open after `first_wait_ms`, so an account that an attacker linked
    receives nothing at once. Raises ChannelUnavailable, CodeInvalid, OpenidInUse, Unavailable,
    which may have used up the code.
    """
    account, now_ms = find_account(code, channel, ports=ports), ports.clock.now_ms()
    return ports.payees.bind(user_id, channel, account, now_ms, ports.first_wait_ms)


def find_account(code: str, channel: ProviderName, *, ports: LoginPorts) -> ExternalAccount:
    """Return the account of a code. Raises ChannelUnavailable, CodeInvalid, Unavailable."""
    account = required(ports.logins, channel).find_account(code)
    if account is None:
        raise CodeInvalid
    return account
