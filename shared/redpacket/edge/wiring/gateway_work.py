"""Wiring of background work with gateways: callbacks, sweeps, transfers, statements."""

from __future__ import annotations

from functools import cached_property, partial
from typing import TYPE_CHECKING

from redpacket.edge.wiring.withdrawals import Withdrawals

if TYPE_CHECKING:
    from collections.abc import Mapping

    from redpacket.domain.gateway import Channel
    from redpacket.flows.payments.compare_bills import BillReport
    from redpacket.flows.payments.dispatch import DispatchReport
    from redpacket.flows.payments.sweep_payments import PaymentSweepReport
    from redpacket.ports.runtime import InParallel

_RESERVE_MS = 8_000
"""Milliseconds left to finish one call and store its answer."""


class GatewayWork(Withdrawals):
    """Wiring of use cases that callbacks and schedules start."""

    def take_callback(self, channel: str, headers: Mapping[str, str], body: bytes) -> None:
        """Queue a callback's notice. Raises ChannelUnavailable, SignatureInvalid."""
        from redpacket.domain.errors import ChannelUnavailable
        from redpacket.domain.gateway import Channel
        from redpacket.flows.payments.take_callback import take_callback

        by = Channel(channel)
        if by not in self.callbacks:
            raise ChannelUnavailable(f"{channel} is not set up here")
        take_callback(
            by,
            headers,
            body,
            callbacks=self.callbacks[by],
            queue=self.notice_queue,
            book=self.payment_book,
            clock=self.clock,
        )

    def follow_notice(self, message: str) -> None:
        """Query the gateway about a queued notice. Raises InvalidRequest, Unavailable."""
        from redpacket.adapters.aws.sqs_notices import read_notice
        from redpacket.domain.switches import Switch
        from redpacket.flows.payments.take_callback import follow_notice

        channel, notice = read_notice(message)
        follow_notice(
            channel,
            notice,
            payments=self.payment_ports,
            withdrawals=self.withdrawal_ports,
            authorizations=self.authorization_ports,
            may_withdraw=lambda: self.stored_switches.is_on(Switch.WITHDRAW),
        )

    def sweep_payments(self, time_left_ms: int) -> PaymentSweepReport:
        """Check everything that is pending at gateways once."""
        from redpacket.flows.payments.sweep_payments import sweep_payments

        return sweep_payments(
            payments=self.payment_ports,
            withdrawals=self.withdrawal_ports,
            authorizations=self.authorization_ports,
            in_parallel=self.in_parallel,
            stop_at_ms=self.clock.now_ms() + time_left_ms - _RESERVE_MS,
        )

    @cached_property
    def many_in_parallel(self) -> InParallel:
        """Thread map with one thread for each slot of a batch."""
        from redpacket.adapters.threads import in_threads
        from redpacket.flows.payments.dispatch import BATCH

        return partial(in_threads, threads=BATCH)

    def dispatch(self, time_left_ms: int) -> dict[Channel, DispatchReport]:
        """Call gateways for waiting withdrawals at their pace."""
        from redpacket.adapters.threads import in_threads
        from redpacket.domain.switches import Switch
        from redpacket.flows.payments.dispatch import dispatch

        def dispatch_by(channel: Channel) -> DispatchReport:
            return dispatch(
                channel,
                ports=self.withdrawal_ports,
                in_parallel=self.many_in_parallel,
                stop_at_ms=self.clock.now_ms() + time_left_ms - _RESERVE_MS,
                may_go_on=lambda: self.stored_switches.is_on(Switch.WITHDRAW),
            )

        channels = list(self.withdrawal_ports.gateways)
        return dict(zip(channels, in_threads(dispatch_by, channels), strict=True))

    def compare_bills(
        self, time_left_ms: int, day: str | None = None, *, may_skip: bool = False
    ) -> dict[Channel, list[BillReport]]:
        """Compare the statements of the days since the last compared one, or of *day*."""
        from redpacket.flows.payments.compare_bills import compare_bills

        return compare_bills(
            self.gateways_in,
            day,
            payments=self.payment_ports,
            withdrawals=self.withdrawal_ports,
            stop_at_ms=self.clock.now_ms() + time_left_ms - _RESERVE_MS,
            may_skip=may_skip,
        )
