"""Reconciliation."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from redpacket.containers.fairness import FairnessContainer
    from redpacket.containers.ledger import LedgerContainer
    from redpacket.containers.lottery import LotteryContainer
    from redpacket.containers.packets import PacketsContainer
    from redpacket.containers.platform import Platform
    from redpacket.reconciliation.checks.facts import Difference
    from redpacket.reconciliation.ports import Runs, Tables
    from redpacket.reconciliation.use_cases.compare_rows import ReconcilePorts
    from redpacket.reconciliation.use_cases.reconcile import Reconciliation


@dataclass(eq=False)
class ReconciliationContainer:
    """Reconciliation."""

    platform: Platform
    ledger: LedgerContainer
    packets: PacketsContainer
    fairness: FairnessContainer
    lottery: LotteryContainer

    @cached_property
    def tables(self) -> Tables:
        from redpacket.reconciliation.dynamodb.tables import DynamoTables
        from redpacket.reconciliation.ports import Table

        names = {
            Table.ACCOUNTS: self.platform.settings.accounts_table,
            Table.PACKETS: self.platform.settings.packets_table,
            Table.SHARES: self.platform.settings.shares_table,
            Table.QUOTAS: self.platform.settings.quotas_table,
            Table.CAMPAIGNS: self.platform.settings.campaigns_table,
            Table.DRAWS: self.platform.settings.draws_table,
            Table.PAYMENTS: self.platform.settings.payments_table,
            Table.LOG: self.platform.settings.log_table,
        }
        return DynamoTables(self.platform.dynamo, names, self.platform.seeds)

    @cached_property
    def runs(self) -> Runs:
        from redpacket.reconciliation.dynamodb.runs import DynamoRuns

        return DynamoRuns(self.platform.dynamo, self.platform.settings.reconciliation_table)

    @cached_property
    def audit_packet(self) -> partial[list[Difference]]:
        from redpacket.reconciliation.use_cases.audit_packet import audit_packet

        return partial(
            audit_packet,
            packets=self.packets.repository,
            ledger=self.ledger.repository,
            clock=self.platform.clock,
        )

    @cached_property
    def reconcile_ports(self) -> ReconcilePorts:
        from redpacket.reconciliation.use_cases.compare_rows import ReconcilePorts

        return ReconcilePorts(
            tables=self.tables,
            packets=self.packets.repository,
            ledger=self.ledger.repository,
            draws=self.lottery.draws,
            claim_cache=self.packets.claim_cache,
            log_book=self.fairness.log_book,
            commitments=self.fairness.noted_commitments,
            clock=self.platform.clock,
            journal=self.platform.journal,
        )

    def reconcile(self, time_left_ms: int, *, may_begin: bool = True) -> Reconciliation:
        from redpacket.reconciliation.use_cases.reconcile import reconcile

        return reconcile(
            ports=self.reconcile_ports,
            runs=self.runs,
            dead_letters=self.packets.dead_letters,
            holder=self.platform.new_seed(8).hex(),
            new_key=lambda: self.platform.new_seed(16).hex(),
            may_begin=may_begin,
            stop_at_ms=self.platform.clock.now_ms() + time_left_ms,
        )
