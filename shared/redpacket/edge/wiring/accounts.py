"""Wiring of accounts and profiles."""

from __future__ import annotations

from functools import cached_property, partial
from typing import TYPE_CHECKING

from redpacket.edge.wiring.guards import Guards

if TYPE_CHECKING:
    from redpacket.adapters.dynamo.funding import DynamoFunding
    from redpacket.flows.accounts.cached_profiles import CachedProfiles
    from redpacket.ports.accounts import Deposits, Funding, Ledger, Profile, Profiles


class Accounts(Guards):
    """Wiring of flows/accounts."""

    @cached_property
    def ledger(self) -> Ledger:
        from redpacket.adapters.dynamo.ledger import DynamoLedger

        return DynamoLedger(
            self.dynamo,
            self.settings.accounts_table,
            self.settings.packets_table,
            self.settings.shares_table,
        )

    @cached_property
    def deposits(self) -> Deposits:
        from redpacket.adapters.dynamo.deposits import DynamoDeposits

        return DynamoDeposits(
            self.dynamo,
            self.settings.accounts_table,
            self.settings.profiles_table,
            self.settings.journal_table,
            self.settings.approvals_table,
        )

    @cached_property
    def packet_funding(self) -> Funding:
        """Funding of users' packets, with a limit of open ones."""
        return self._funding(self.settings.open_packets_max, self.settings.commitments_table)

    @cached_property
    def prize_funding(self) -> Funding:
        """Funding of cash prizes, which neither count as open nor are logged."""
        return self._funding(None)

    def _funding(
        self, open_packets_max: int | None, commitments_table: str | None = None
    ) -> DynamoFunding:
        from redpacket.adapters.dynamo.funding import DynamoFunding

        return DynamoFunding(
            self.dynamo,
            self.settings.accounts_table,
            self.settings.packets_table,
            self.settings.campaigns_table,
            self.settings.profiles_table,
            open_packets_max=open_packets_max,
            journal_table=self.settings.journal_table,
            commitments_table=commitments_table,
            approvals_table=self.settings.approvals_table,
        )

    @cached_property
    def profiles(self) -> Profiles:
        from redpacket.adapters.dynamo.profiles import DynamoProfiles

        return DynamoProfiles(self.dynamo, self.settings.profiles_table)

    @cached_property
    def shown_profiles(self) -> CachedProfiles:
        """Process-local cache of profiles for pages with many viewers."""
        from redpacket.flows.accounts.cached_profiles import CachedProfiles

        return CachedProfiles(self.profiles, clock=self.clock)

    def balance_fen(self, user_id: str) -> int:
        from redpacket.domain.ledger import user_account

        return self.ledger.balance_fen(user_account(user_id))

    @cached_property
    def deposit(self) -> partial[tuple[str, int]]:
        from redpacket.flows.accounts.deposit import deposit

        return partial(
            deposit,
            amount_fen_max=self.settings.deposit_fen_max,
            deposits=self.deposits,
            ledger=self.ledger,
            four_eyes=self.four_eyes,
            clock=self.clock,
        )

    @cached_property
    def edit_profile(self) -> partial[Profile]:
        from redpacket.adapters.skeletons import skeleton_of
        from redpacket.flows.accounts.edit_profile import edit_profile

        return partial(
            edit_profile,
            profiles=self.profiles,
            skeleton_of=skeleton_of,
            avatar_hosts=self.settings.avatar_hosts,
        )
