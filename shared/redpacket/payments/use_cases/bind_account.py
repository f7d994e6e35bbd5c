"""Account linking and sign-in, with a code from the provider."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from redpacket.ledger.provider_name import ProviderName
from redpacket.payments.errors import CodeInvalid, OpenidInUse
from redpacket.payments.model.provider import ExternalAccount, Payee
from redpacket.payments.ports import Logins, TokenIssuer, required
from redpacket.platform.errors import Unavailable
from redpacket.platform.runtime import Clock, EventLogger

if TYPE_CHECKING:
    from redpacket.operations.use_cases.limit_failures import FailureBudget
    from redpacket.payments.dynamodb.payees import DynamoPayees


@dataclass(frozen=True, slots=True)
class LoginPorts:
    """Dependencies of sign-in and linking; *first_wait_ms* delays payouts to a first account.

    *wrong_codes* limits attempts with codes that identify no account.
    """

    logins: Mapping[ProviderName, Logins]
    issuers: Mapping[ProviderName, TokenIssuer]
    payees: DynamoPayees
    clock: Clock
    logger: EventLogger
    first_wait_ms: int
    wrong_codes: FailureBudget


def bind_account(user_id: str, channel: ProviderName, code: str, *, ports: LoginPorts) -> Payee:
    """Bind the account that a code identifies, in place of the user's previous account.

    Withdrawals to a first account open only after `first_wait_ms`, in case an attacker linked it.
    Raises ChannelUnavailable, CodeInvalid, OpenidInUse, RateLimited, Unavailable. After
    Unavailable, the code may be used up.
    """
    account = _find_account(code, channel, user_id, lambda _: user_id, ports)
    now_ms = ports.clock.now_ms()
    return ports.payees.bind(user_id, channel, account, now_ms, ports.first_wait_ms)


def _find_account(
    code: str,
    channel: ProviderName,
    caller: str,
    owner_of: Callable[[str], str],
    ports: LoginPorts,
) -> ExternalAccount:
    login = required(ports.logins, channel)
    ports.wrong_codes.require(caller)
    account = login.find_account(code, owner_of)
    if account is None:
        ports.wrong_codes.spend(caller)
        raise CodeInvalid
    return account


def sign_in(
    code: str,
    channel: ProviderName,
    user_id_of: Callable[[str], str],
    *,
    address: str,
    ports: LoginPorts,
) -> tuple[str, int]:
    """Return a token and its expiry in ms, and bind the account to the user if neither is bound.

    *address* is the client's network address, or empty. Raises ChannelUnavailable, CodeInvalid,
    RateLimited, Unavailable.
    """
    issuer = required(ports.issuers, channel)

    def owner_of(name_hash: str) -> str:
        return user_id_of(issuer.subject_of(name_hash))

    account = _find_account(code, channel, address, owner_of, ports)
    try:
        _bind_first(account.owner, channel, account, ports)
    except Unavailable as error:
        # The code is used up, but the token works without a binding. The next sign-in tries
        # to bind again.
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
