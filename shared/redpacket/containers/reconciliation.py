"""Reconciliation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

from redpacket.containers.container import Container
from redpacket.containers.ledger import LedgerContainer
from redpacket.containers.lottery import LotteryContainer
from redpacket.containers.packets import PacketsContainer
from redpacket.containers.public_log import PublicLogContainer
from redpacket.platform.difference import Difference
from redpacket.reconciliation.clients.athena import Athena, external_table, filled_table
from redpacket.reconciliation.clients.state_machine import StateMachine
from redpacket.reconciliation.ports import Runs, StoredRun
from redpacket.reconciliation.use_cases.audit_packet import audit_packet
from redpacket.reconciliation.use_cases.audits import Audits
from redpacket.reconciliation.use_cases.reconcile import Reconciliation, reconcile, sums_of
from redpacket.reconciliation.use_cases.runs import batches, find_run, last_result, start_run
from redpacket.reconciliation.use_cases.statements import Run


@dataclass(eq=False)
class ReconciliationContainer(Container):
    """Reconciliation."""

    ledger: LedgerContainer
    packets: PacketsContainer
    public_log: PublicLogContainer
    lottery: LotteryContainer

    @cached_property
    def runs(self) -> Runs:
        arn = self.settings.reconciliation_machine
        return StateMachine(lambda: self.platform.aws("stepfunctions"), arn)

    @cached_property
    def audit_packet(self) -> partial[list[Difference]]:
        packets, ledger = self.packets.repository, self.ledger.repository
        return partial(audit_packet, packets=packets, ledger=ledger, clock=self.clock)

    @cached_property
    def audits(self) -> Audits:
        return Audits(
            packets=self.packets.repository,
            ledger=self.ledger.repository,
            draws=self.lottery.draws,
            log_book=self.public_log.log_book,
            dead_letters=self.packets.dead_letters,
            clock=self.clock,
            logger=self.logger,
        )

    def start_run(self) -> str:
        return start_run(self.platform.new_seed(16).hex(), runs=self.runs)

    def find_run(self, run_id: str) -> StoredRun:
        return find_run(run_id, runs=self.runs)

    def take_step(self, event: Mapping[str, Any], time_left_ms: int) -> Mapping[str, Any]:
        """Return the queries of an export, or the result of a run whose checks have run."""
        has_receipts = self.audits.has_receipts
        run = Run(event["run_id"], event["exported_at_ms"], has_receipts=has_receipts)
        if "places" not in event:
            return self._judge(run, event, time_left_ms).stored
        places = {one["table"]: one["place"] for one in event["places"]}
        return {"batches": batches(run, places, external_table, filled_table)}

    def _judge(self, run: Run, event: Mapping[str, Any], time_left_ms: int) -> Reconciliation:
        """Return the result of a run, and report it if it is the last."""
        athena, first = lambda: self.platform.aws("athena"), event.get("first")
        workgroup, database = self.settings.reconciliation_workgroup, event["database"]
        engine = Athena(athena, workgroup, database, self.clock)
        found = reconcile(
            run,
            {one["name"]: sums_of(engine.result(one["query_id"])[0]) for one in event["queries"]},
            engine=engine,
            audits=self.audits,
            before=last_result(runs=self.runs),
            stop_at_ms=self.clock.now_ms() + time_left_ms,
            database=database,
            first=first,
        )
        if first or not found.differences:
            found.report(self.logger)
        return found
