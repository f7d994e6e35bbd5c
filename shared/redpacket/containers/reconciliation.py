"""Container for reconciliation."""

from dataclasses import dataclass
from functools import cached_property

from redpacket.containers.container import Container
from redpacket.containers.fairness import FairnessContainer
from redpacket.containers.lottery import LotteryContainer
from redpacket.containers.packets import PacketsContainer
from redpacket.packets.clients.sqs_payouts import SqsDeadLetters
from redpacket.reconciliation.clients.athena import Athena
from redpacket.reconciliation.clients.state_machine import StateMachine
from redpacket.reconciliation.use_cases.audits import Audits


@dataclass(eq=False)
class ReconciliationContainer(Container):
    packets: PacketsContainer
    fairness: FairnessContainer
    lottery: LotteryContainer

    @cached_property
    def runs(self) -> StateMachine:
        arn = self.settings.reconciliation_machine
        return StateMachine(lambda: self.platform.aws("stepfunctions"), arn)

    @cached_property
    def dead_letters(self) -> SqsDeadLetters:
        return SqsDeadLetters(lambda: self.platform.aws("sqs"), self.settings.payout_dlq_url)

    @cached_property
    def audits(self) -> Audits:
        return Audits(
            packets=self.packets.repository,
            ledger=self.packets.ledger,
            find_draw=self.lottery.draws.find_draw,
            find_snapshot=self.lottery.prizes.find_snapshot,
            day_seed=self.lottery.prizes.day_seed,
            public_log=self.fairness.public_log,
            dead_letters=self.dead_letters,
            clock=self.clock,
            logger=self.logger,
        )

    def engine(self, database: str) -> Athena:
        """Return the query engine for one run's exported tables."""
        workgroup = self.settings.reconciliation_workgroup
        return Athena(lambda: self.platform.aws("athena"), workgroup, database, self.clock)
