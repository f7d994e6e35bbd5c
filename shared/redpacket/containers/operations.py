"""Switches, rate limits, and risk control."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from redpacket.containers.container import Container

if TYPE_CHECKING:
    from collections.abc import Callable

    from redpacket.operations.model.limits import Limit, LimitName
    from redpacket.operations.ports import Limits, SwitchCopy, SwitchStore
    from redpacket.operations.use_cases.approval_policy import ApprovalPolicy
    from redpacket.operations.use_cases.ask_risk import RiskCheck
    from redpacket.operations.use_cases.cached_switches import CachedSwitches
    from redpacket.operations.use_cases.limit_rate import UserLimit


@dataclass(eq=False)
class OperationsContainer(Container):
    """Switches, rate limits, and risk control."""

    @cached_property
    def limits(self) -> Limits:
        from redpacket.operations.redis.limits import RedisLimits

        return RedisLimits(self.platform.cache_client)

    @cached_property
    def switch_store(self) -> SwitchStore:
        from redpacket.operations.dynamodb.switches import DynamoSwitches

        return DynamoSwitches(self.dynamo)

    @cached_property
    def switches(self) -> CachedSwitches:
        """Switches cached by this process and the shared cache."""
        from redpacket.operations.redis.switches import RedisSwitches

        return self._switches(RedisSwitches(self.platform.cache_client))

    @cached_property
    def stored_switches(self) -> CachedSwitches:
        """Switches for functions without a connection to the cache."""
        return self._switches(None)

    def _switches(self, copy: SwitchCopy | None) -> CachedSwitches:
        from redpacket.operations.use_cases.cached_switches import CachedSwitches

        return CachedSwitches(
            store=self.switch_store, copy=copy, clock=self.clock, logger=self.logger
        )

    @cached_property
    def approval_policy(self) -> ApprovalPolicy:
        from redpacket.approvals.dynamodb.approvals import DynamoApprovals
        from redpacket.operations.model.allowances import ApprovalLimits
        from redpacket.operations.use_cases.approval_policy import ApprovalPolicy

        allowances = DynamoApprovals(self.dynamo)
        bounds = ApprovalLimits(*self.settings.approval_fen)
        return ApprovalPolicy(allowances=allowances, clock=self.clock, limits=bounds)

    def find_limit(self, limit: Limit, name: LimitName) -> Limit:
        """Return *limit* at the rate that operators set."""
        return limit.scaled(self.switches.limit(name))

    def limit_sends(self, user_id: str) -> None:
        """Count a user's send. Raises RateLimited."""
        from redpacket.operations.model.limits import SENDS, LimitName, daily_send_limit
        from redpacket.operations.use_cases.limit_rate import limit_rate

        per_day = daily_send_limit(self.switches.limit(LimitName.SENDS_PER_DAY))
        for limit in (self.find_limit(SENDS, LimitName.SENDS_PER_MINUTE), per_day):
            limit_rate(limit, user_id, limits=self.limits, logger=self.logger)

    def limit_draws(self, user_id: str) -> None:
        """Count a user's draw. Raises RateLimited."""
        from redpacket.operations.model.limits import DRAWS, LimitName
        from redpacket.operations.use_cases.limit_rate import limit_rate

        limit = self.find_limit(DRAWS, LimitName.DRAWS_PER_MINUTE)
        limit_rate(limit, user_id, limits=self.limits, logger=self.logger)

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

        return UserLimit(find_limit, limits=self.limits, clock=self.clock, logger=self.logger)

    @cached_property
    def risk(self) -> RiskCheck | None:
        """Host's risk control, or None if none is configured."""
        if not self.settings.risk_url:
            return None
        from redpacket.operations.clients.risk_hook import CALL_MS_MAX, RiskHook
        from redpacket.operations.redis.asked_verdicts import RedisAskedVerdicts
        from redpacket.operations.use_cases.ask_risk import RiskCheck

        client = self.platform.http_client(self.settings.risk_url, call_ms_max=CALL_MS_MAX)
        return RiskCheck(
            RiskHook(client, self.settings.risk_secret),
            RedisAskedVerdicts(self.platform.cache_client),
            is_open=self.settings.risk_is_open,
            clock=self.clock,
            logger=self.logger,
        )
