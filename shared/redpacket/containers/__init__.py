"""Composition root: builds containers on first use, and connects nothing at import time."""

from __future__ import annotations

from dataclasses import fields
from importlib import import_module
from typing import TYPE_CHECKING

from redpacket.platform.settings import settings

if TYPE_CHECKING:
    from redpacket.containers.campaigns import CampaignsContainer
    from redpacket.containers.chat import ChatContainer
    from redpacket.containers.editing import EditingContainer
    from redpacket.containers.events import EventsContainer
    from redpacket.containers.fairness import FairnessContainer
    from redpacket.containers.lottery import LotteryContainer
    from redpacket.containers.operations import OperationsContainer
    from redpacket.containers.operators import OperatorsContainer
    from redpacket.containers.packets import PacketsContainer
    from redpacket.containers.payments import PaymentsContainer
    from redpacket.containers.platform import Platform
    from redpacket.containers.providers import ProvidersContainer
    from redpacket.containers.reconciliation import ReconciliationContainer
    from redpacket.containers.users import UsersContainer


class Containers:
    """All containers, by module name; a container's fields name the containers that it needs."""

    platform: Platform
    operations: OperationsContainer
    users: UsersContainer
    campaigns: CampaignsContainer
    packets: PacketsContainer
    fairness: FairnessContainer
    lottery: LotteryContainer
    editing: EditingContainer
    operators: OperatorsContainer
    providers: ProvidersContainer
    payments: PaymentsContainer
    chat: ChatContainer
    events: EventsContainer
    reconciliation: ReconciliationContainer
    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> object:
            if name not in Containers.__annotations__:
                raise AttributeError(name)
            module = import_module(f"redpacket.containers.{name}")
            container = getattr(module, Containers.__annotations__[name])
            members = {field.name: getattr(self, field.name) for field in fields(container)}
            vars(self)[name] = container(**members)
            return vars(self)[name]


settings.check()
containers = Containers()
