"""Wiring of operators' work and of reconciliation."""

from __future__ import annotations

from functools import cached_property, partial
from typing import TYPE_CHECKING

from redpacket.edge.wiring.campaigns import CampaignRoom

if TYPE_CHECKING:
    from collections import Counter

    from redpacket.domain.approvals import Approval
    from redpacket.domain.checks.facts import Difference
    from redpacket.domain.claim import ShareFate
    from redpacket.domain.packet import Packet
    from redpacket.domain.winners import Winner
    from redpacket.flows.approvals.decide_approval import DecidePorts
    from redpacket.flows.reconciliation.compare_rows import ReconcilePorts
    from redpacket.flows.reconciliation.reconcile import Reconciliation
    from redpacket.ports.audiences import Verdicts
    from redpacket.ports.operators import Approvals, KnownPeople, OperatorLists
    from redpacket.ports.packets import DeadLetters
    from redpacket.ports.reconciliation import Runs, Tables


class Operations(CampaignRoom):
    """Wiring of flows/reconciliation and flows/approvals."""

    @cached_property
    def dead_letters(self) -> DeadLetters:
        from redpacket.adapters.aws.sqs_payouts import SqsDeadLetters

        return SqsDeadLetters(lambda: self.aws("sqs"), self.settings.payout_dlq_url)

    @cached_property
    def verdicts(self) -> Verdicts:
        from redpacket.adapters.dynamo.verdicts import DynamoVerdicts

        return DynamoVerdicts(self.dynamo, self.settings.audience_table)

    @cached_property
    def judge_user(self) -> partial[None]:
        from redpacket.flows.guards.judge_user import judge_user

        return partial(judge_user, verdicts=self.verdicts, is_asked=self.settings.has_verdicts)

    @cached_property
    def erase_user(self) -> partial[None]:
        """Erasure of users who have no money and no pending business."""
        from redpacket.adapters.dynamo.erasure import DynamoErasure
        from redpacket.adapters.dynamo.holdings import DynamoHoldings
        from redpacket.flows.accounts.erase_user import erase_user

        return partial(
            erase_user,
            holdings=DynamoHoldings(
                self.dynamo,
                self.settings.accounts_table,
                self.settings.packets_table,
                self.settings.shares_table,
                self.settings.payments_table,
                self.in_parallel,
            ),
            erasure=DynamoErasure(
                self.dynamo,
                self.settings.payments_table,
                self.settings.audience_table,
                self.settings.campaigns_table,
                self.in_parallel,
            ),
            profiles=self.profiles,
            clock=self.clock,
        )

    @cached_property
    def tables(self) -> Tables:
        from redpacket.adapters.dynamo.tables import DynamoTables
        from redpacket.ports.reconciliation import Table

        names = {
            Table.ACCOUNTS: self.settings.accounts_table,
            Table.PACKETS: self.settings.packets_table,
            Table.SHARES: self.settings.shares_table,
            Table.QUOTAS: self.settings.quotas_table,
            Table.CAMPAIGNS: self.settings.campaigns_table,
            Table.DRAWS: self.settings.draws_table,
            Table.PAYMENTS: self.settings.payments_table,
            Table.LOG: self.settings.log_table,
        }
        return DynamoTables(self.dynamo, names, self.seeds)

    @cached_property
    def operator_lists(self) -> OperatorLists:
        from redpacket.adapters.dynamo.operator_lists import DynamoOperatorLists

        return DynamoOperatorLists(
            self.dynamo, self.settings.campaigns_table, self.settings.packets_table
        )

    @cached_property
    def known_people(self) -> KnownPeople:
        from redpacket.adapters.dynamo.profiles import DynamoProfiles

        return DynamoProfiles(self.dynamo, self.settings.profiles_table)

    @cached_property
    def list_packets(self) -> partial[tuple[list[Packet], str | None]]:
        from redpacket.flows.packets.list_packets import list_packets

        return partial(
            list_packets,
            campaigns=self.campaigns,
            packets=self.packets,
            lists=self.operator_lists,
            pages=self.pages,
        )

    @cached_property
    def list_claims(self) -> partial[tuple[list[ShareFate], int | None]]:
        from redpacket.flows.packets.list_packets import list_claims

        return partial(list_claims, packets=self.packets, pages=self.pages)

    @cached_property
    def count_sharers(self) -> partial[tuple[Counter[str], int | None]]:
        from redpacket.flows.packets.list_packets import count_sharers

        return partial(count_sharers, packets=self.packets, pages=self.pages)

    @cached_property
    def list_winners(self) -> partial[tuple[list[tuple[Winner, int]], tuple[str, int] | None]]:
        from redpacket.adapters.dynamo.winners import DynamoWinners
        from redpacket.flows.campaigns.list_winners import list_winners

        return partial(
            list_winners,
            draws=self.draws,
            winners=DynamoWinners(self.dynamo, self.settings.draws_table),
        )

    @cached_property
    def approvals(self) -> Approvals:
        from redpacket.adapters.dynamo.approvals import DynamoApprovals

        return DynamoApprovals(
            self.dynamo, self.settings.approvals_table, self.settings.journal_table
        )

    @cached_property
    def _decide_ports(self) -> DecidePorts:
        from redpacket.flows.approvals.apply_approval import apply_approval
        from redpacket.flows.approvals.decide_approval import DecidePorts

        return DecidePorts(
            approvals=self.approvals,
            clock=self.clock,
            apply=partial(
                apply_approval,
                deposit=self.deposit,
                edit_campaign=self.edit_campaign,
                put_prize=self.put_prize,
                change_stock=self.change_stock,
            ),
        )

    @cached_property
    def approve(self) -> partial[Approval]:
        from redpacket.flows.approvals.decide_approval import approve

        return partial(approve, ports=self._decide_ports)

    @cached_property
    def reject(self) -> partial[Approval]:
        from redpacket.flows.approvals.decide_approval import reject

        return partial(reject, ports=self._decide_ports)

    @cached_property
    def runs(self) -> Runs:
        from redpacket.adapters.dynamo.runs import DynamoRuns

        return DynamoRuns(self.dynamo, self.settings.reconciliation_table)

    @cached_property
    def audit_packet(self) -> partial[list[Difference]]:
        from redpacket.flows.reconciliation.audit_packet import audit_packet

        return partial(audit_packet, packets=self.packets, ledger=self.ledger, clock=self.clock)

    @cached_property
    def reconcile_ports(self) -> ReconcilePorts:
        from redpacket.flows.reconciliation.compare_rows import ReconcilePorts

        return ReconcilePorts(
            tables=self.tables,
            packets=self.packets,
            ledger=self.ledger,
            draws=self.draws,
            claim_cache=self.claim_cache,
            log_book=self.log_book,
            commitments=self.noted_commitments,
            clock=self.clock,
            journal=self.journal,
        )

    def reconcile(self, time_left_ms: int, *, may_begin: bool = True) -> Reconciliation:
        from redpacket.flows.reconciliation.reconcile import reconcile

        return reconcile(
            ports=self.reconcile_ports,
            runs=self.runs,
            dead_letters=self.dead_letters,
            holder=self.new_seed(8).hex(),
            new_key=lambda: self.new_seed(16).hex(),
            may_begin=may_begin,
            stop_at_ms=self.clock.now_ms() + time_left_ms,
        )
