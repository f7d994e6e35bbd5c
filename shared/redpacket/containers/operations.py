"""Switches, rate limits, allowances, audit log, risk."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from redpacket.containers.container import Container

if TYPE_CHECKING:
    from collections.abc import Callable

    from redpacket.operations.audit_ports import AuditLog
    from redpacket.operations.model.limits import Limit, LimitName
    from redpacket.operations.model.operators import ActionKind, Change
    from redpacket.operations.model.switches import Switch, SwitchState
    from redpacket.operations.ports import Limits, SwitchStore
    from redpacket.operations.risk_ports import RiskDecisions
    from redpacket.operations.use_cases.approval_policy import ApprovalPolicy
    from redpacket.operations.use_cases.ask_risk import RiskCheck
    from redpacket.operations.use_cases.cached_switches import CachedSwitches
    from redpacket.operations.use_cases.limit_rate import UserLimit


@dataclass(eq=False)
class OperationsContainer(Container):
    """Switches, rate limits, allowances, audit log, risk."""

    @cached_property
    def limits(self) -> Limits:
        from redpacket.operations.redis.limits import RedisLimits

        return RedisLimits(self.platform.cache_client)

    @cached_property
    def switch_store(self) -> SwitchStore:
        from redpacket.operations.dynamodb.switches import DynamoSwitches

        return DynamoSwitches(self.dynamo, self.settings.switches_table)

    @cached_property
    def switches(self) -> CachedSwitches:
        """Switches cached by this process and the shared cache."""
        from redpacket.operations.redis.switches import RedisSwitches
        from redpacket.operations.use_cases.cached_switches import CachedSwitches

        return CachedSwitches(
            store=self.switch_store,
            copy=RedisSwitches(self.platform.cache_client),
            clock=self.clock,
            journal=self.journal,
        )

    @cached_property
    def stored_switches(self) -> CachedSwitches:
        """Switches for functions without a connection to the cache."""
        from redpacket.operations.use_cases.cached_switches import CachedSwitches

        return CachedSwitches(
            store=self.switch_store,
            copy=None,
            clock=self.clock,
            journal=self.journal,
        )

    @cached_property
    def actions(self) -> AuditLog:
        from redpacket.operations.dynamodb.audit_log import DynamoActions

        return DynamoActions(self.dynamo, self.settings.journal_table)

    @cached_property
    def four_eyes(self) -> ApprovalPolicy:
        from redpacket.approvals.dynamodb.approvals import DynamoApprovals
        from redpacket.operations.model.allowances import ApprovalLimits
        from redpacket.operations.use_cases.approval_policy import ApprovalPolicy

        return ApprovalPolicy(
            allowances=DynamoApprovals(self.dynamo, self.settings.approvals_table),
            clock=self.clock,
            limits=ApprovalLimits(*self.settings.approval_fen),
        )

    def note_action(
        self, operator_id: str, kind: ActionKind, subject: str, changes: tuple[Change, ...] = ()
    ) -> None:
        """Log an operator's action that no transaction logs, before it is carried out."""
        from redpacket.operations.model.operators import Action

        self.actions.note(Action(operator_id, kind, subject, self.clock.now_ms(), changes))

    def require_on(self, switch: Switch) -> None:
        """Raise SwitchedOff if *switch* is off; call it before anything else."""
        self.switches.require_on(switch)

    @cached_property
    def turn_switch(self) -> partial[SwitchState]:
        from redpacket.operations.use_cases.turn_switch import turn_switch

        return partial(turn_switch, **self._switch_ports())

    @cached_property
    def set_limit(self) -> partial[int | None]:
        from redpacket.operations.use_cases.turn_switch import set_limit

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
        from redpacket.operations.model.limits import SENDS, LimitName, daily_send_limit
        from redpacket.operations.use_cases.limit_rate import limit_rates

        wanted = (
            self.find_limit(SENDS, LimitName.SENDS_PER_MINUTE),
            daily_send_limit(self.switches.limit(LimitName.SENDS_PER_DAY)),
        )
        limit_rates(wanted, user_id, limits=self.limits, journal=self.journal)

    def limit_draws(self, user_id: str) -> None:
        """Count a user's draw. Raises RateLimited."""
        from redpacket.operations.model.limits import DRAWS, LimitName
        from redpacket.operations.use_cases.limit_rate import limit_rate

        limit = self.find_limit(DRAWS, LimitName.DRAWS_PER_MINUTE)
        limit_rate(limit, user_id, limits=self.limits, journal=self.journal)

    def limit_reads(self, user_id: str) -> None:
        """Count a user's read. Raises RateLimited."""
        self.read_costs.count(user_id)

    @cached_property
    def read_costs(self) -> UserLimit:
        from redpacket.operations.model.limits import READS

        return self._user_limit(lambda: READS)

    @cached_property
    def grab_costs(self) -> UserLimit:
        from redpacket.operations.model.limits import GRABS, LimitName

        return self._user_limit(lambda: self.find_limit(GRABS, LimitName.GRABS_PER_MINUTE))

    def _user_limit(self, find_limit: Callable[[], Limit]) -> UserLimit:
        from redpacket.operations.use_cases.limit_rate import UserLimit

        return UserLimit(find_limit, limits=self.limits, clock=self.clock, journal=self.journal)

    @cached_property
    def verdicts(self) -> RiskDecisions:
        from redpacket.operations.dynamodb.verdicts import DynamoVerdicts

        return DynamoVerdicts(self.dynamo, self.settings.audience_table)

    @cached_property
    def judge_user(self) -> partial[None]:
        from redpacket.operations.use_cases.judge_user import judge_user

        return partial(judge_user, verdicts=self.verdicts, is_asked=self.settings.has_verdicts)

    @cached_property
    def risk(self) -> RiskCheck | None:
        """Host's risk control, or None if none is configured."""
        if not self.settings.risk_url:
            return None
        from redpacket.operations.clients.risk_hook import CALL_MS_MAX, RiskHook
        from redpacket.operations.redis.asked_verdicts import RedisAskedVerdicts
        from redpacket.operations.use_cases.ask_risk import RiskCheck
        from redpacket.platform.ssrf_safe_http import HttpClient

        outgoing = HttpClient(
            self.settings.risk_url,
            call_ms_max=CALL_MS_MAX,
            allows_private=bool(self.settings.simulator_url),
        )
        return RiskCheck(
            RiskHook(outgoing, self.settings.risk_secret),
            RedisAskedVerdicts(self.platform.cache_client),
            is_open=self.settings.risk_is_open,
            clock=self.clock,
            journal=self.journal,
        )
