"""Withdrawals, linked accounts, and consents."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass
from datetime import time
from functools import cached_property, partial

from redpacket.containers.container import Container
from redpacket.containers.payments import PaymentsContainer
from redpacket.containers.providers import ProvidersContainer, required
from redpacket.payments.api.parameters import new_payment_id
from redpacket.payments.model.authorization import Authorization
from redpacket.payments.model.provider_name import ProviderName
from redpacket.payments.model.withdrawals import FINAL, Withdrawal, WithdrawalStatus
from redpacket.payments.use_cases.authorization_ports import AuthorizationPorts
from redpacket.payments.use_cases.authorize import authorize, end_authorization
from redpacket.payments.use_cases.bind_account import bind_account
from redpacket.payments.use_cases.rate_limiter import NightWindow, Pace
from redpacket.payments.use_cases.sign_in import sign_in
from redpacket.payments.use_cases.transfer import cancel_withdrawal
from redpacket.payments.use_cases.withdraw import WithdrawalAsk, find_withdrawal, withdraw
from redpacket.payments.use_cases.withdrawal_ports import WithdrawalPorts, WithdrawalSettings
from redpacket.payments.withdrawal_ports import Payee, WithdrawalLimits
from redpacket.platform.errors import InvalidRequest
from redpacket.platform.idempotency import Request
from redpacket.platform.user import User

_DISPATCHED_EVERY_MS = 60_000
"""Schedule of template.yaml: TransferEveryMinute."""

_WITHDRAWALS_PER_DAY = 10

_WITHDRAWAL_FEN_MIN = 30
"""Smallest withdrawal that every provider transfers."""

_LISTED_PER_PAGE = 50

_WITHDRAWALS_PER_PAGE = 20

_ID_BYTES = 15


@dataclass(eq=False)
class WithdrawalsContainer(Container):
    """Withdrawals, linked accounts, and consents."""

    providers: ProvidersContainer
    payments: PaymentsContainer

    @cached_property
    def withdrawal_ports(self) -> WithdrawalPorts:
        per_minute, night = self.settings.bills_per_minute, self._night_window()
        return WithdrawalPorts(
            gateways=self.providers.gateways_out,
            paces={
                channel: Pace(channel, per_minute, self.payments.gateway_pace, self.clock, night)
                for channel in self.providers.gateways_out
            },
            book=self.payments.withdrawal_book,
            consents=self.payments.consents,
            clock=self.clock,
            logger=self.logger,
            new_id=lambda: secrets.token_hex(_ID_BYTES),
            settings=WithdrawalSettings(
                _WITHDRAWAL_FEN_MIN,
                self.settings.withdrawal_fen_max,
                WithdrawalLimits(_WITHDRAWALS_PER_DAY, self.settings.withdrawal_fen_per_day),
                above_fen=self.settings.withdraw_above_fen,
                begins_within_ms=_DISPATCHED_EVERY_MS,
            ),
        )

    def _night_window(self) -> NightWindow | None:
        begins_at, _, ends_at = self.settings.night_window.partition("-")
        if not ends_at:
            return None
        return NightWindow(time.fromisoformat(begins_at), time.fromisoformat(ends_at))

    def withdraw(self, user: User, amount_fen: int, channel: str, request: Request) -> Withdrawal:
        return withdraw(
            WithdrawalAsk(user.user_id, amount_fen, ProviderName(channel), request),
            payees=self.payments.payees_of(user),
            ports=self.withdrawal_ports,
            payments=self.payments.payment_ports,
        )

    @cached_property
    def find_withdrawal(self) -> partial[Withdrawal]:
        return partial(find_withdrawal, ports=self.withdrawal_ports)

    @cached_property
    def cancel_withdrawal(self) -> partial[Withdrawal]:
        return partial(cancel_withdrawal, ports=self.withdrawal_ports)

    def list_withdrawals(
        self, user_id: str, cursor: str | None
    ) -> tuple[list[Withdrawal], str | None]:
        return self.payments.withdrawal_book.list_of_user(user_id, cursor, _WITHDRAWALS_PER_PAGE)

    def list_of_operators(
        self, user_id: str | None, status: WithdrawalStatus | None, cursor: str | None
    ) -> tuple[list[Withdrawal], str | None]:
        """Return a page of one user's withdrawals, or of all that have not ended.

        Raises InvalidRequest for an end without a user, because no index has all withdrawals.
        """
        if status in FINAL and user_id is None:
            field = {"field": "user", "message": f"is needed for the status {status}"}
            raise InvalidRequest([field])
        if user_id:
            page, more = self.payments.withdrawal_book.list_of_user(
                user_id, cursor, _LISTED_PER_PAGE
            )
        else:
            page, more = self.payments.payment_lists.list_pending_withdrawals(
                cursor, _LISTED_PER_PAGE
            )
        return [each for each in page if status in {None, each.status}], more

    @cached_property
    def find_any(self) -> Callable[[str], Withdrawal | None]:
        return self.payments.withdrawal_book.find

    @cached_property
    def authorization_ports(self) -> AuthorizationPorts:
        return AuthorizationPorts(
            gateways=self.providers.consent_gateways,
            book=self.payments.consents,
            payees=self.payments.bound_payees,
            clock=self.clock,
            logger=self.logger,
            new_number=new_payment_id,
        )

    def find_account(self, user_id: str, channel: ProviderName) -> Payee | None:
        """Return a user's linked account, or None."""
        return self.payments.bound_payees.find(user_id, channel)

    def bind_account(self, user_id: str, channel: ProviderName, code: str) -> Payee:
        """Bind a code's account. Raises ChannelUnavailable, CodeInvalid, OpenidInUse."""
        return bind_account(
            user_id,
            channel,
            code,
            logins=required(self.providers.logins, channel),
            payees=self.payments.bound_payees,
            clock=self.clock,
            first_wait_ms=self.settings.first_link_wait_ms,
        )

    def sign_in(
        self, channel: ProviderName, code: str, user_id_of: Callable[[str], str]
    ) -> tuple[str, int]:
        """Return a token and its expiry. Raises ChannelUnavailable, CodeInvalid."""
        return sign_in(
            code,
            channel,
            logins=required(self.providers.logins, channel),
            issuer=required(self.providers.token_issuers, channel),
            payees=self.payments.bound_payees,
            user_id_of=user_id_of,
            clock=self.clock,
            logger=self.logger,
        )

    def authorize(self, user_id: str, channel: ProviderName, display_name: str) -> Authorization:
        """Request a user's consent to transfers. Raises PayeeNotBound."""
        return authorize(user_id, channel, display_name, ports=self.authorization_ports)

    def end_authorization(self, user_id: str, channel: ProviderName) -> Authorization | None:
        """Close a user's consent; return None if there is none."""
        return end_authorization(user_id, channel, ports=self.authorization_ports)
