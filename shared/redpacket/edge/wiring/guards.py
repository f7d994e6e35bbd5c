"""Wiring of switches, rate limits and approvals."""

from __future__ import annotations

from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from redpacket.edge.wiring.outside import Outside

if TYPE_CHECKING:
    from collections.abc import Callable

    from redpacket.domain.approvals import Approval
    from redpacket.domain.limits import Limit, LimitName
    from redpacket.domain.operators import ActionKind, Change
    from redpacket.domain.switches import Switch, SwitchState
    from redpacket.flows.guards.cached_switches import CachedSwitches
    from redpacket.flows.guards.four_eyes import FourEyes
    from redpacket.flows.guards.limit_rate import UserLimit
    from redpacket.ports.guards import Limits, SwitchStore
    from redpacket.ports.operators import ActionJournal


class Guards(Outside):
    """Wiring of flows/guards."""

    @cached_property
    def limits(self) -> Limits:
        from redpacket.adapters.redis.limits import RedisLimits

        return RedisLimits(self.cache_client)

    @cached_property
    def switch_store(self) -> SwitchStore:
        from redpacket.adapters.dynamo.switches import DynamoSwitches

        return DynamoSwitches(self.dynamo, self.settings.switches_table)

    @cached_property
    def switches(self) -> CachedSwitches:
        """Switches cached by this process and the shared cache."""
        from redpacket.adapters.redis.switches import RedisSwitches
        from redpacket.flows.guards.cached_switches import CachedSwitches

        return CachedSwitches(
            store=self.switch_store,
            copy=RedisSwitches(self.cache_client),
            clock=self.clock,
            journal=self.journal,
        )

    @cached_property
    def stored_switches(self) -> CachedSwitches:
        """Switches for functions without a connection to the cache."""
        from redpacket.flows.guards.cached_switches import CachedSwitches

        return CachedSwitches(
            store=self.switch_store, copy=None, clock=self.clock, journal=self.journal
        )

    @cached_property
    def actions(self) -> ActionJournal:
        from redpacket.adapters.dynamo.actions import DynamoActions

        return DynamoActions(self.dynamo, self.settings.journal_table)

    @cached_property
    def four_eyes(self) -> FourEyes:
        from redpacket.adapters.dynamo.approvals import DynamoApprovals
        from redpacket.domain.approvals import ApprovalLimits
        from redpacket.flows.guards.four_eyes import FourEyes

        return FourEyes(
            allowances=DynamoApprovals(self.dynamo, self.settings.approvals_table),
            clock=self.clock,
            limits=ApprovalLimits(*self.settings.approval_fen),
        )

    @cached_property
    def ask_approval(self) -> partial[Approval]:
        from redpacket.adapters.dynamo.approvals import DynamoApprovals
        from redpacket.flows.approvals.ask_approval import AskPorts, ask_approval

        approvals = DynamoApprovals(
            self.dynamo,
            self.settings.approvals_table,
            self.settings.journal_table,
            self.settings.profiles_table,
        )
        return partial(ask_approval, ports=AskPorts(approvals=approvals, clock=self.clock))

    def note_action(
        self, operator_id: str, kind: ActionKind, subject: str, changes: tuple[Change, ...] = ()
    ) -> None:
        """Log an operator's action that no transaction logs, before it is carried out."""
        from redpacket.domain.operators import Action

        self.actions.note(Action(operator_id, kind, subject, self.clock.now_ms(), changes))

    def require_on(self, switch: Switch) -> None:
        """Raise SwitchedOff if *switch* is off; call it before anything else."""
        self.switches.require_on(switch)

    @cached_property
    def turn_switch(self) -> partial[SwitchState]:
        from redpacket.flows.guards.turn_switch import turn_switch

        return partial(turn_switch, **self._switch_ports())

    @cached_property
    def set_limit(self) -> partial[int | None]:
        from redpacket.flows.guards.turn_switch import set_limit

        return partial(set_limit, **self._switch_ports())

    def _switch_ports(self) -> dict[str, Any]:
        return {
            "switches": self.switch_store,
            "actions": self.actions,
            "clock": self.clock,
            "journal": self.journal,
        }

    def find_limit(self, limit: Limit, name: LimitName) -> Limit:
        """Return *limit* at the rate that operators set."""
        return limit.scaled(self.switches.limit(name))

    def limit_sends(self, user_id: str) -> None:
        """Count a user's send. Raises RateLimited."""
        from redpacket.domain.limits import SENDS, LimitName, daily_send_limit
        from redpacket.flows.guards.limit_rate import limit_rates

        wanted = (
            self.find_limit(SENDS, LimitName.SENDS_PER_MINUTE),
            daily_send_limit(self.switches.limit(LimitName.SENDS_PER_DAY)),
        )
        limit_rates(wanted, user_id, limits=self.limits, journal=self.journal)

    def limit_draws(self, user_id: str) -> None:
        """Count a user's draw. Raises RateLimited."""
        from redpacket.domain.limits import DRAWS, LimitName
        from redpacket.flows.guards.limit_rate import limit_rate

        limit = self.find_limit(DRAWS, LimitName.DRAWS_PER_MINUTE)
        limit_rate(limit, user_id, limits=self.limits, journal=self.journal)

    def limit_reads(self, user_id: str) -> None:
        """Count a user's read. Raises RateLimited."""
        self.read_costs.count(user_id)

    @cached_property
    def read_costs(self) -> UserLimit:
        from redpacket.domain.limits import READS

        return self._user_limit(lambda: READS)

    @cached_property
    def grab_costs(self) -> UserLimit:
        from redpacket.domain.limits import GRABS, LimitName

        return self._user_limit(lambda: self.find_limit(GRABS, LimitName.GRABS_PER_MINUTE))

    def _user_limit(self, find_limit: Callable[[], Limit]) -> UserLimit:
        from redpacket.flows.guards.limit_rate import UserLimit

        return UserLimit(find_limit, limits=self.limits, clock=self.clock, journal=self.journal)
