"""Settlement of claims."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING

from redpacket.containers.container import Container

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from redpacket.containers.ledger import LedgerContainer
    from redpacket.containers.operations import OperationsContainer
    from redpacket.containers.packets import PacketsContainer
    from redpacket.containers.providers import ProvidersContainer
    from redpacket.containers.users import UsersContainer
    from redpacket.packets.model.claim import Share, ShareRef


@dataclass(eq=False)
class SettlementContainer(Container):
    """Settlement of claims."""

    operations: OperationsContainer
    users: UsersContainer
    ledger: LedgerContainer
    packets: PacketsContainer
    providers: ProvidersContainer

    @cached_property
    def settle_claims(self) -> partial[set[ShareRef]]:
        from redpacket.packets.use_cases.settle_claims import SettlePorts
        from redpacket.packets.use_cases.settle_or_delay import settle_or_delay

        ports = SettlePorts(
            ledger=self.ledger.repository,
            packets=self.packets.repository,
            pages=self.packets.pages,
            payouts=self.packets.payouts,
            clock=self.clock,
            logger=self.logger,
            in_parallel=self.packets.payouts_in_parallel,
            announce=self.announce_claims,
        )
        is_on, profiles = self.operations.stored_switches.is_on, self.users.profiles
        return partial(settle_or_delay, is_on=is_on, profiles=profiles, ports=ports)

    @cached_property
    def announce_claims(self) -> Callable[[Sequence[Share]], None] | None:
        """Trigger of automatic payouts after claims, or None if they are disabled."""
        if not self.settings.withdraw_above_fen:
            return None
        from redpacket.payments.use_cases.trigger_auto_payouts import trigger_auto_payouts

        channels, queue = self.providers.automatic, self.providers.notice_queue
        return partial(trigger_auto_payouts, channels=channels, queue=queue)
