"""Reconciliation."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from redpacket.containers.container import Container

if TYPE_CHECKING:
    from collections.abc import Mapping

    from redpacket.containers.fairness import FairnessContainer
    from redpacket.containers.ledger import LedgerContainer
    from redpacket.containers.lottery import LotteryContainer
    from redpacket.containers.packets import PacketsContainer
    from redpacket.platform.difference import Difference
    from redpacket.reconciliation.ports import Runs, StoredRun
    from redpacket.reconciliation.use_cases.audits import Audits
    from redpacket.reconciliation.use_cases.reconcile import Reconciliation
    from redpacket.reconciliation.use_cases.statements import Run


@dataclass(eq=False)
class ReconciliationContainer(Container):
    """Reconciliation."""

    ledger: LedgerContainer
    packets: PacketsContainer
    fairness: FairnessContainer
    lottery: LotteryContainer

    @cached_property
    def runs(self) -> Runs:
        from redpacket.reconciliation.clients.state_machine import StateMachine

        arn = self.settings.reconciliation_machine
        return StateMachine(lambda: self.platform.aws("stepfunctions"), arn)

    @cached_property
    def audit_packet(self) -> partial[list[Difference]]:
        from redpacket.reconciliation.use_cases.audit_packet import audit_packet

        return partial(
            audit_packet,
            packets=self.packets.repository,
            ledger=self.ledger.repository,
            clock=self.clock,
        )

    @cached_property
    def audits(self) -> Audits:
        from redpacket.reconciliation.use_cases.audits import Audits

        return Audits(
            packets=self.packets.repository,
            ledger=self.ledger.repository,
            draws=self.lottery.draws,
            log_book=self.fairness.log_book,
            dead_letters=self.packets.dead_letters,
            clock=self.clock,
            journal=self.journal,
        )

    def start_run(self) -> str:
        from redpacket.reconciliation.use_cases.runs import start_run

        return start_run(self.platform.new_seed(16).hex(), runs=self.runs)

    def find_run(self, run_id: str) -> StoredRun:
        from redpacket.reconciliation.use_cases.runs import find_run

        return find_run(run_id, runs=self.runs)

    def take_step(self, event: Mapping[str, Any], time_left_ms: int) -> Mapping[str, Any]:
        """Return the queries of an export, or the result of a run whose checks have run."""
        from redpacket.reconciliation.clients.athena import external_table, filled_table
        from redpacket.reconciliation.use_cases.runs import batches
        from redpacket.reconciliation.use_cases.statements import Run

        has_receipts = self.audits.has_receipts
        run = Run(event["run_id"], event["exported_at_ms"], has_receipts=has_receipts)
        if "places" not in event:
            return self._judge(run, event, time_left_ms).stored
        places = {one["table"]: one["place"] for one in event["places"]}
        statements = external_table, filled_table
        return {"batches": batches(run, places, *statements)}

    def _judge(self, run: Run, event: Mapping[str, Any], time_left_ms: int) -> Reconciliation:
        """Return the result of a run, and report it if it is the last."""
        from redpacket.reconciliation.clients.athena import Athena
        from redpacket.reconciliation.use_cases.reconcile import reconcile, sums_of
        from redpacket.reconciliation.use_cases.runs import last_result

        platform, first = self.platform, event.get("first")
        workgroup, database = platform.settings.reconciliation_workgroup, event["database"]
        engine = Athena(lambda: platform.aws("athena"), workgroup, database, platform.clock)
        found = reconcile(
            run,
            {one["name"]: sums_of(engine.result(one["query_id"])[0]) for one in event["queries"]},
            engine=engine,
            audits=self.audits,
            before=last_result(runs=self.runs),
            stop_at_ms=platform.clock.now_ms() + time_left_ms,
        )
        found = found.confirmed(first) if first else found
        if first or not found.differences:
            found.report(platform.journal)
        return found
