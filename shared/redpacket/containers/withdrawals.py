"""Withdrawals, linked accounts, and consents."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from datetime import time
from functools import cached_property

from redpacket.containers.container import Container
from redpacket.containers.payments import PaymentsContainer
from redpacket.containers.providers import ProvidersContainer
from redpacket.payments.api.parameters import new_payment_id
from redpacket.payments.model.withdrawals import WITHDRAWAL_FEN_MIN
from redpacket.payments.use_cases.authorization_ports import AuthorizationPorts
from redpacket.payments.use_cases.bind_account import LoginPorts
from redpacket.payments.use_cases.rate_limiter import NightWindow, Pace
from redpacket.payments.use_cases.withdrawal_ports import WithdrawalPorts, WithdrawalSettings
from redpacket.payments.withdrawal_ports import WithdrawalLimits

_DISPATCHED_EVERY_MS = 60_000
"""Schedule of template.yaml: TransferEveryMinute."""

_WITHDRAWALS_PER_DAY = 10

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
            transfers=self.payments.withdrawal_book,
            consents=self.payments.consents,
            clock=self.clock,
            logger=self.logger,
            new_id=lambda: secrets.token_hex(_ID_BYTES),
            settings=WithdrawalSettings(
                WITHDRAWAL_FEN_MIN,
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

    @cached_property
    def login_ports(self) -> LoginPorts:
        return LoginPorts(
            logins=self.providers.logins,
            issuers=self.providers.token_issuers,
            payees=self.payments.bound_payees,
            clock=self.clock,
            logger=self.logger,
            first_wait_ms=self.settings.first_link_wait_ms,
        )
