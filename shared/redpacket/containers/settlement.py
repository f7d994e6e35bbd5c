"""Settlement of claims."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from redpacket.containers.container import Container

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from redpacket.containers.ledger import LedgerContainer
    from redpacket.containers.operations import OperationsContainer
    from redpacket.containers.packets import PacketsContainer
    from redpacket.containers.providers import ProvidersContainer
    from redpacket.packets.model.claim import Share
    from redpacket.packets.use_cases.settle_claims import SettlePorts


@dataclass(eq=False)
class SettlementContainer(Container):
    """Settlement of claims."""

    operations: OperationsContainer
    ledger: LedgerContainer
    packets: PacketsContainer
    providers: ProvidersContainer

    @cached_property
    def settle_ports(self) -> SettlePorts:
        from redpacket.packets.use_cases.settle_claims import SettlePorts

        return SettlePorts(
            ledger=self.ledger.repository,
            packets=self.packets.repository,
            pages=self.packets.pages,
            payouts=self.packets.payouts,
            clock=self.clock,
            logger=self.logger,
            in_parallel=self.payouts_in_parallel,
            announce=self.announce_claims,
        )

    def payouts_in_parallel(self, do: Callable[[Any], Any], items: Sequence[Any]) -> list[Any]:
        """Run as many at once as operators allow."""
        from redpacket.operations.model.limits import LimitName
        from redpacket.platform.threads import in_threads

        threads = self.operations.stored_switches.limit(LimitName.PAYOUTS_AT_ONCE)
        return in_threads(do, items, threads=threads)

    @cached_property
    def announce_claims(self) -> Callable[[Sequence[Share]], None] | None:
        """Trigger of automatic payouts after claims, or None if they are disabled."""
        if not self.settings.withdraw_above_fen:
            return None
        from redpacket.payments.use_cases.trigger_auto_payouts import trigger_auto_payouts

        channels, queue = self.providers.automatic, self.providers.notice_queue
        return partial(trigger_auto_payouts, channels=channels, queue=queue)
