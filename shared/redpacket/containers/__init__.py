"""Composition root: builds containers on first use, and connects nothing at import time."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from redpacket.platform.settings import settings

if TYPE_CHECKING:
    from redpacket.containers.approvals import ApprovalsContainer
    from redpacket.containers.campaigns import CampaignsContainer
    from redpacket.containers.editing import EditingContainer
    from redpacket.containers.erasure import ErasureContainer
    from redpacket.containers.events import EventsContainer
    from redpacket.containers.fairness import FairnessContainer
    from redpacket.containers.gateway_work import GatewayWorkContainer
    from redpacket.containers.ledger import LedgerContainer
    from redpacket.containers.lottery import LotteryContainer
    from redpacket.containers.operations import OperationsContainer
    from redpacket.containers.packets import PacketsContainer
    from redpacket.containers.payments import PaymentsContainer
    from redpacket.containers.platform import Platform
    from redpacket.containers.providers import ProvidersContainer
    from redpacket.containers.reconciliation import ReconciliationContainer
    from redpacket.containers.settlement import SettlementContainer
    from redpacket.containers.users import UsersContainer
    from redpacket.containers.withdrawals import WithdrawalsContainer


class Containers:
    """One container for each context."""

    @cached_property
    def platform(self) -> Platform:
        from redpacket.containers.platform import Platform

        return Platform()

    @cached_property
    def operations(self) -> OperationsContainer:
        from redpacket.containers.operations import OperationsContainer

        return OperationsContainer(self.platform)

    @cached_property
    def users(self) -> UsersContainer:
        from redpacket.containers.users import UsersContainer

        return UsersContainer(self.platform)

    @cached_property
    def ledger(self) -> LedgerContainer:
        from redpacket.containers.ledger import LedgerContainer

        return LedgerContainer(self.platform, self.operations)

    @cached_property
    def campaigns(self) -> CampaignsContainer:
        from redpacket.containers.campaigns import CampaignsContainer

        return CampaignsContainer(self.platform)

    @cached_property
    def packets(self) -> PacketsContainer:
        from redpacket.containers.packets import PacketsContainer

        return PacketsContainer(self.platform, self.operations, self.ledger, self.campaigns)

    @cached_property
    def fairness(self) -> FairnessContainer:
        from redpacket.containers.fairness import FairnessContainer

        return FairnessContainer(self.platform)

    @cached_property
    def lottery(self) -> LotteryContainer:
        from redpacket.containers.lottery import LotteryContainer

        return LotteryContainer(
            self.platform,
            self.operations,
            self.campaigns,
            self.packets,
            self.fairness,
            self.users,
        )

    @cached_property
    def editing(self) -> EditingContainer:
        from redpacket.containers.editing import EditingContainer

        return EditingContainer(
            self.platform,
            self.operations,
            self.campaigns,
            self.packets,
            self.fairness,
            self.lottery,
        )

    @cached_property
    def approvals(self) -> ApprovalsContainer:
        from redpacket.containers.approvals import ApprovalsContainer

        return ApprovalsContainer(self.platform, self.ledger, self.packets, self.editing)

    @cached_property
    def providers(self) -> ProvidersContainer:
        from redpacket.containers.providers import ProvidersContainer

        return ProvidersContainer(self.platform)

    @cached_property
    def payments(self) -> PaymentsContainer:
        from redpacket.containers.payments import PaymentsContainer

        return PaymentsContainer(
            self.platform, self.users, self.ledger, self.packets, self.providers
        )

    @cached_property
    def withdrawals(self) -> WithdrawalsContainer:
        from redpacket.containers.withdrawals import WithdrawalsContainer

        return WithdrawalsContainer(self.platform, self.providers, self.payments)

    @cached_property
    def gateway_work(self) -> GatewayWorkContainer:
        from redpacket.containers.gateway_work import GatewayWorkContainer

        return GatewayWorkContainer(
            self.platform, self.operations, self.providers, self.payments, self.withdrawals
        )

    @cached_property
    def settlement(self) -> SettlementContainer:
        from redpacket.containers.settlement import SettlementContainer

        return SettlementContainer(
            self.platform, self.operations, self.users, self.ledger, self.packets, self.payments
        )

    @cached_property
    def events(self) -> EventsContainer:
        from redpacket.containers.events import EventsContainer

        return EventsContainer(self.platform, self.users, self.packets)

    @cached_property
    def erasure(self) -> ErasureContainer:
        from redpacket.containers.erasure import ErasureContainer

        return ErasureContainer(self.platform, self.users)

    @cached_property
    def reconciliation(self) -> ReconciliationContainer:
        from redpacket.containers.reconciliation import ReconciliationContainer

        return ReconciliationContainer(
            self.platform, self.ledger, self.packets, self.fairness, self.lottery
        )


settings.check()
containers = Containers()
