"""Wiring of withdrawals and payout accounts."""

from __future__ import annotations

import secrets
from functools import cached_property, partial
from typing import TYPE_CHECKING

from redpacket.edge.wiring.payments import Payments

if TYPE_CHECKING:
    from collections.abc import Callable

    from redpacket.domain.authorization import Authorization
    from redpacket.domain.packet import Person
    from redpacket.domain.withdrawals import Withdrawal
    from redpacket.flows.payments.authorization_ports import AuthorizationPorts
    from redpacket.flows.payments.pace import NightWindow
    from redpacket.flows.payments.withdrawal_ports import WithdrawalPorts
    from redpacket.ports.accounts import Request
    from redpacket.ports.withdrawals import Payee

_DISPATCHED_EVERY_MS = 60_000
"""Schedule of template.yaml: TransferEveryMinute."""

_WITHDRAWALS_PER_DAY = 10

_WITHDRAWAL_FEN_MIN = 30
"""Smallest withdrawal: WeChat Pay transfers no less."""

_WITHDRAWALS_PER_PAGE = 20

_ID_BYTES = 15


class Withdrawals(Payments):
    """Wiring of use cases of withdrawals, payout accounts and consents."""

    @cached_property
    def withdrawal_ports(self) -> WithdrawalPorts:
        from redpacket.flows.payments.pace import Pace
        from redpacket.flows.payments.withdrawal_ports import WithdrawalPorts, WithdrawalSettings
        from redpacket.ports.withdrawals import WithdrawalLimits

        per_minute, night = self.settings.bills_per_minute, self._night_window()
        return WithdrawalPorts(
            gateways=self.gateways_out,
            paces={
                channel: Pace(channel, per_minute, self.gateway_pace, self.clock, night)
                for channel in self.gateways_out
            },
            book=self.withdrawal_book,
            consents=self.consents,
            clock=self.clock,
            journal=self.journal,
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
        from datetime import time

        from redpacket.flows.payments.pace import NightWindow

        begins_at, _, ends_at = self.settings.night_window.partition("-")
        if not ends_at:
            return None
        return NightWindow(time.fromisoformat(begins_at), time.fromisoformat(ends_at))

    def withdraw(self, user: Person, amount_fen: int, channel: str, request: Request) -> Withdrawal:
        from redpacket.domain.gateway import Channel
        from redpacket.flows.payments.withdraw import WithdrawalAsk, withdraw

        return withdraw(
            WithdrawalAsk(user.user_id, amount_fen, Channel(channel), request),
            payees=self.payees_of(user),
            ports=self.withdrawal_ports,
            payments=self.payment_ports,
        )

    @cached_property
    def find_withdrawal(self) -> partial[Withdrawal]:
        from redpacket.flows.payments.withdraw import find_withdrawal

        return partial(find_withdrawal, ports=self.withdrawal_ports)

    @cached_property
    def cancel_withdrawal(self) -> partial[Withdrawal]:
        from redpacket.flows.payments.transfer import cancel_withdrawal

        return partial(cancel_withdrawal, ports=self.withdrawal_ports)

    def list_withdrawals(
        self, user_id: str, cursor: str | None
    ) -> tuple[list[Withdrawal], str | None]:
        return self.withdrawal_book.list_of_user(user_id, cursor, _WITHDRAWALS_PER_PAGE)

    @cached_property
    def authorization_ports(self) -> AuthorizationPorts:
        from redpacket.edge.payment_parameters import new_payment_id
        from redpacket.flows.payments.authorization_ports import AuthorizationPorts

        return AuthorizationPorts(
            gateways=self.consent_gateways,
            book=self.consents,
            payees=self.bound_payees,
            clock=self.clock,
            journal=self.journal,
            new_number=new_payment_id,
        )

    def find_wechat(self, user_id: str) -> Payee | None:
        """Return a user's WeChat account, or None."""
        from redpacket.domain.gateway import Channel

        return self.bound_payees.find(user_id, Channel.WECHAT)

    def bind_wechat(self, user_id: str, code: str) -> Payee:
        """Bind a code's WeChat account. Raises CodeInvalid, OpenidInUse."""
        from redpacket.domain.gateway import Channel
        from redpacket.flows.payments.bind_account import bind_account

        return bind_account(
            user_id,
            Channel.WECHAT,
            code,
            logins=self.wechat_logins,
            payees=self.bound_payees,
            clock=self.clock,
            first_wait_ms=self.settings.first_link_wait_ms,
        )

    def sign_in(self, code: str, user_id_of: Callable[[str], str]) -> tuple[str, int]:
        """Return a token for a code's user, and its expiry. Raises CodeInvalid."""
        from redpacket.domain.gateway import Channel
        from redpacket.flows.payments.sign_in import sign_in

        return sign_in(
            code,
            Channel.WECHAT,
            logins=self.wechat_logins,
            issuer=self.token_issuer,
            payees=self.bound_payees,
            user_id_of=user_id_of,
            clock=self.clock,
            journal=self.journal,
        )

    def authorize(self, user_id: str, display_name: str) -> Authorization:
        """Request a user's consent at WeChat. Raises PayeeNotBound."""
        from redpacket.domain.gateway import Channel
        from redpacket.flows.payments.authorize import authorize

        return authorize(user_id, Channel.WECHAT, display_name, ports=self.authorization_ports)

    def end_authorization(self, user_id: str) -> Authorization | None:
        """Close a user's consent at WeChat; return None if there is none."""
        from redpacket.domain.gateway import Channel
        from redpacket.flows.payments.authorize import end_authorization

        return end_authorization(user_id, Channel.WECHAT, ports=self.authorization_ports)
