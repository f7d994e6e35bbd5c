"""Accounts and profiles."""

from __future__ import annotations

from functools import cached_property, partial
from typing import TYPE_CHECKING

from redpacket.edge.wiring.guards import Guards

if TYPE_CHECKING:
    from redpacket.adapters.dynamo.ledger import DynamoLedger
    from redpacket.flows.accounts.cached_profiles import CachedProfiles
    from redpacket.ports.accounts import Ledger, Profile, Profiles


class Accounts(Guards):
    """Builds flows/accounts."""

    @cached_property
    def ledger(self) -> Ledger:
        """The ledger of AccountsTable."""
        return self._ledger()

    @cached_property
    def funding_ledger(self) -> Ledger:
        """The ledger that also notes in ProfilesTable whom the host means."""
        return self._ledger(profiles_table=self.settings.profiles_table())

    @cached_property
    def sending_ledger(self) -> Ledger:
        """The ledger that also takes from the budgets of CampaignsTable, and notes senders."""
        return self._ledger(
            self.settings.campaigns_table(),
            self.settings.profiles_table(),
            open_packets_max=self.settings.open_packets_max(),
        )

    def _ledger(
        self,
        campaigns_table: str | None = None,
        profiles_table: str | None = None,
        *,
        open_packets_max: int | None = None,
    ) -> DynamoLedger:
        from redpacket.adapters.dynamo.ledger import DynamoLedger

        return DynamoLedger(
            self.dynamo,
            self.settings.accounts_table(),
            self.settings.packets_table(),
            self.settings.shares_table(),
            campaigns_table,
            profiles_table,
            has_receipts=self.settings.has_receipts(),
            open_packets_max=open_packets_max,
        )

    @cached_property
    def profiles(self) -> Profiles:
        """The profiles of ProfilesTable."""
        from redpacket.adapters.dynamo.profiles import DynamoProfiles

        return DynamoProfiles(self.dynamo, self.settings.profiles_table())

    @cached_property
    def shown_profiles(self) -> CachedProfiles:
        """The profiles as this process remembers them, for pages that many people look at."""
        from redpacket.flows.accounts.cached_profiles import CachedProfiles

        return CachedProfiles(self.profiles, clock=self.clock)

    def balance_fen(self, user_id: str) -> int:
        """Return what a user has."""
        from redpacket.domain.ledger import user_account

        return self.ledger.balance_fen(user_account(user_id))

    @cached_property
    def deposit(self) -> partial[tuple[str, int]]:
        """Puts money into a user's account."""
        from redpacket.flows.accounts.deposit import deposit

        return partial(
            deposit,
            amount_fen_max=self.settings.deposit_fen_max(),
            ledger=self.funding_ledger,
            clock=self.clock,
        )

    @cached_property
    def edit_profile(self) -> partial[Profile]:
        """Changes what others see of a user."""
        from redpacket.adapters.skeletons import skeleton_of
        from redpacket.flows.accounts.edit_profile import edit_profile

        return partial(
            edit_profile,
            profiles=self.profiles,
            skeleton_of=skeleton_of,
            avatar_hosts=self.settings.avatar_hosts(),
        )
