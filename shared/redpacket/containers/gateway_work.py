"""Callbacks, sweeps, transfers, and statements."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, partial

from redpacket.containers.container import Container
from redpacket.containers.operations import OperationsContainer
from redpacket.containers.payments import PaymentsContainer
from redpacket.containers.providers import ProvidersContainer, required
from redpacket.containers.withdrawals import WithdrawalsContainer
from redpacket.operations.model.switches import Switch
from redpacket.payments.clients.sqs_notices import read_notice
from redpacket.payments.model.provider_name import ProviderName
from redpacket.payments.use_cases.compare_statements import StatementReport, compare_statements
from redpacket.payments.use_cases.dispatch import BATCH, DispatchReport, dispatch
from redpacket.payments.use_cases.handle_callback import follow_notice, handle_callback
from redpacket.payments.use_cases.sweep_payments import PaymentSweepReport, sweep_payments
from redpacket.platform.runtime import InParallel
from redpacket.platform.threads import in_threads

_RESERVE_MS = 8_000
"""Milliseconds left to finish one call and store its answer."""


@dataclass(eq=False)
class GatewayWorkContainer(Container):
    """Callbacks, sweeps, transfers, and statements."""

    operations: OperationsContainer
    providers: ProvidersContainer
    payments: PaymentsContainer
    withdrawals: WithdrawalsContainer

    def handle_callback(self, channel: str, headers: Mapping[str, str], body: bytes) -> None:
        """Queue a callback's notice. Raises ChannelUnavailable, SignatureInvalid."""
        handle_callback(
            ProviderName(channel),
            headers,
            body,
            callbacks=required(self.providers.callbacks, ProviderName(channel)),
            queue=self.providers.notice_queue,
            book=self.payments.payment_book,
            clock=self.clock,
        )

    def follow_notice(self, message: str) -> None:
        """Query the gateway about a queued notice. Raises InvalidRequest, Unavailable."""
        channel, notice = read_notice(message)
        follow_notice(
            channel,
            notice,
            payments=self.payments.payment_ports,
            withdrawals=self.withdrawals.withdrawal_ports,
            authorizations=self.withdrawals.authorization_ports,
            may_withdraw=lambda: self.operations.stored_switches.is_on(Switch.WITHDRAW),
        )

    def sweep_payments(self, time_left_ms: int) -> PaymentSweepReport:
        """Check everything that is pending at gateways once."""
        return sweep_payments(
            payments=self.payments.payment_ports,
            withdrawals=self.withdrawals.withdrawal_ports,
            authorizations=self.withdrawals.authorization_ports,
            in_parallel=self.platform.in_parallel,
            stop_at_ms=self.clock.now_ms() + time_left_ms - _RESERVE_MS,
        )

    @cached_property
    def many_in_parallel(self) -> InParallel:
        """Thread map with one thread for each slot of a batch."""
        return partial(in_threads, threads=BATCH)

    def dispatch(self, time_left_ms: int) -> dict[ProviderName, DispatchReport]:
        """Call gateways for waiting withdrawals at their pace."""

        def dispatch_by(channel: ProviderName) -> DispatchReport:
            return dispatch(
                channel,
                ports=self.withdrawals.withdrawal_ports,
                in_parallel=self.many_in_parallel,
                stop_at_ms=self.clock.now_ms() + time_left_ms - _RESERVE_MS,
                may_go_on=lambda: self.operations.stored_switches.is_on(Switch.WITHDRAW),
            )

        channels = list(self.withdrawals.withdrawal_ports.gateways)
        return dict(zip(channels, in_threads(dispatch_by, channels), strict=True))

    def compare_statements(
        self, time_left_ms: int, day: str | None = None, *, may_skip: bool = False
    ) -> dict[ProviderName, list[StatementReport]]:
        """Compare the statements of the days since the last compared one, or of *day*."""
        return compare_statements(
            self.providers.gateways_in,
            day,
            payments=self.payments.payment_ports,
            withdrawals=self.withdrawals.withdrawal_ports,
            stop_at_ms=self.clock.now_ms() + time_left_ms - _RESERVE_MS,
            may_skip=may_skip,
        )
