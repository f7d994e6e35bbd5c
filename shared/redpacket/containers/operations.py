"""Container for switches, rate limits, and risk control."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from redpacket.containers.container import Container
from redpacket.operations.dynamodb.switches import DynamoSwitches
from redpacket.operations.model.limits import (
    DRAWS,
    GRABS,
    READS,
    SENDS,
    Limit,
    LimitName,
    daily_send_limit,
)
from redpacket.operations.use_cases.cached_switches import CachedSwitches
from redpacket.platform.runtime import in_threads

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from redpacket.operations.ports import Limits, SwitchCopy
    from redpacket.operations.use_cases.ask_risk import RiskCheck
    from redpacket.operations.use_cases.limit_rate import UserLimit
    from redpacket.platform.redis.connect import SignedTexts


@dataclass(eq=False)
class OperationsContainer(Container):
    @cached_property
    def limits(self) -> Limits:
        from redpacket.operations.redis.limits import RedisLimits

        return RedisLimits(self.platform.cache_client)

    @cached_property
    def switch_store(self) -> DynamoSwitches:
        return DynamoSwitches(self.dynamo, self.settings.unit_id)

    @cached_property
    def switches(self) -> CachedSwitches:
        """Switches, cached in this process and in the shared cache."""
        from redpacket.operations.redis.switches import RedisSwitches

        return self._switches(RedisSwitches(self.platform.cache_client, self._texts))

    @cached_property
    def _texts(self) -> SignedTexts:
        from redpacket.platform.redis.connect import SignedTexts

        keys = self.platform.seed_keys
        return SignedTexts(keys.sign, keys.has_signed, self.clock.now_ms)

    @cached_property
    def stored_switches(self) -> CachedSwitches:
        """Switches for functions without a connection to the cache."""
        return self._switches(None)

    def _switches(self, copy: SwitchCopy | None) -> CachedSwitches:
        store, clock, logger = self.switch_store, self.clock, self.logger
        return CachedSwitches(store=store, copy=copy, clock=clock, logger=logger)

    def payouts_in_parallel(self, do: Callable[[Any], Any], items: Sequence[Any]) -> list[Any]:
        """Call *do* for all *items*, with as many threads as operators allow."""
        threads = self.stored_switches.limit(LimitName.PAYOUTS_AT_ONCE)
        return in_threads(do, items, threads=threads)

    def limit_sends(self, user_id: str) -> None:
        """Count a send toward the user's limits. Raises RateLimited."""
        self._limit(SENDS.scaled(self.switches.limit(LimitName.SENDS_PER_MINUTE)), user_id)
        self._limit(daily_send_limit(self.switches.limit(LimitName.SENDS_PER_DAY)), user_id)

    def limit_draws(self, user_id: str) -> None:
        """Count a draw toward the user's limit. Raises RateLimited."""
        self._limit(DRAWS.scaled(self.switches.limit(LimitName.DRAWS_PER_MINUTE)), user_id)

    def _limit(self, limit: Limit, user_id: str) -> None:
        from redpacket.operations.use_cases.limit_rate import limit_rate

        limit_rate(limit, user_id, limits=self.limits, logger=self.logger)

    @cached_property
    def read_costs(self) -> UserLimit:
        return self._user_limit(lambda: READS)

    @cached_property
    def grab_costs(self) -> UserLimit:
        return self._user_limit(
            lambda: GRABS.scaled(self.switches.limit(LimitName.GRABS_PER_MINUTE))
        )

    def _user_limit(self, find_limit: Callable[[], Limit]) -> UserLimit:
        from redpacket.operations.use_cases.limit_rate import UserLimit

        return UserLimit(find_limit, limits=self.limits, clock=self.clock, logger=self.logger)

    @cached_property
    def risk(self) -> RiskCheck | None:
        if not self.settings.risk_url:
            return None
        from redpacket.operations.clients.risk_hook import CALL_MS_MAX, RiskHook
        from redpacket.operations.redis.asked_verdicts import RedisAskedVerdicts
        from redpacket.operations.use_cases.ask_risk import RiskCheck

        client = self.platform.http_client(self.settings.risk_url, call_ms_max=CALL_MS_MAX)
        return RiskCheck(
            RiskHook(client, self.settings.risk_secret),
            RedisAskedVerdicts(self.platform.cache_client, self._texts),
            is_open=self.settings.risk_is_open,
            clock=self.clock,
            logger=self.logger,
        )
