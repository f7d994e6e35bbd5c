"""Ports for reconciliation: table reads and saved progress."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from redpacket.lottery.model.lottery import Draw
    from redpacket.payments.model.provider import Channel
    from redpacket.reconciliation.checks.facts import Unit
    from redpacket.reconciliation.checks.outside import BookedLine
    from redpacket.reconciliation.scanned import Member, Scanned, UnitWon


class Table(StrEnum):
    """Table that reconciliation compares."""

    ACCOUNTS = "accounts"
    PACKETS = "packets"
    SHARES = "shares"
    QUOTAS = "quotas"
    CAMPAIGNS = "campaigns"
    DRAWS = "draws"
    PAYMENTS = "payments"
    LOG = "log"


class Tables(Protocol):
    """Tables page by page, and single rows to check again."""

    def kept(self) -> list[Table]:
        """Return the deployment's tables in a fixed order."""

    def read(self, table: Table, place: str | None) -> tuple[list[Scanned], str | None]:
        """Return a page of rows, possibly empty, with adjacent partitions, and the next place."""

    def partition(self, table: Table, owner: tuple[str, ...]) -> Iterator[Scanned]:
        """Yield the rows of the partition of an account, user, campaign, or campaign's user."""

    def list_members(self, names: Sequence[tuple[str, str]]) -> list[Member]:
        """Return the packets that budgets paid for, by campaign and packet."""

    def count_claims(self, pairs: Sequence[tuple[str, str]]) -> dict[tuple[str, str], int]:
        """Return the existing claim counts, by campaign and user."""

    def list_draws(self, names: Sequence[tuple[str, str, str]]) -> list[Draw]:
        """Return the existing draws, by campaign, user and id."""

    def list_outside(self, accounts: Sequence[str]) -> list[Scanned]:
        """Return the rows of payments and withdrawals, by their account names in transfers."""

    def list_booked(self, channel: Channel, line: BookedLine, since_ms: int) -> list[BookedLine]:
        """Return the statement lines of a number that moved between *since_ms* and its note."""

    def list_withdrawn(self, user_id: str, day: str) -> list[Scanned]:
        """Return a user's withdrawals of a day, from an index that may lag, and then the count."""

    def list_unpaid(self, account: str) -> list[Scanned]:
        """Return an account's unpaid packets, from an index that may lag, and then the balance."""

    def list_units(self, campaign_id: str, units: Sequence[Unit]) -> list[UnitWon]:
        """Return the units that were won."""


@dataclass(frozen=True, slots=True)
class SavedRun:
    """Progress of a reconciliation: *state* is JSON, *sums* are its sums by name."""

    state: str = "{}"
    sums: Mapping[str, bytes] = field(default_factory=dict)


class Runs(Protocol):
    """Progress and lease of a run, in one row."""

    def take(self, holder: str, now_ms: int, until_ms: int) -> SavedRun | None:
        """Lease the row and return the saved run, or None if another holder has it."""

    def find(self) -> SavedRun:
        """Return the saved run, whoever holds the row."""

    def hold(self, holder: str, until_ms: int) -> bool:
        """Extend the lease; return False if another holder has taken it."""

    def save(self, holder: str, run: SavedRun, until_ms: int) -> bool:
        """Save and extend the lease; return False if another holder has it."""
