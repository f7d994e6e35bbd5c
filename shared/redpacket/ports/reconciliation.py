"""What a reconciliation reads, and where it keeps its place."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    # Each flow and adapter imports this page; none needs the words of all the others.
    from collections.abc import Iterator, Mapping, Sequence

    from redpacket.domain.checks.facts import Unit
    from redpacket.domain.lottery import Draw
    from redpacket.domain.scanned import Member, Scanned, UnitWon


class Table(StrEnum):
    """The tables that reconciliation compares."""

    ACCOUNTS = "accounts"
    PACKETS = "packets"
    SHARES = "shares"
    QUOTAS = "quotas"
    CAMPAIGNS = "campaigns"
    DRAWS = "draws"
    PAYMENTS = "payments"
    LOG = "log"


class Tables(Protocol):
    """Whole tables, page by page, and what is looked at again by its name; all read strongly."""

    def kept(self) -> list[Table]:
        """Return the tables that the deployment has, always in the same order."""

    def read(self, table: Table, place: str | None) -> tuple[list[Scanned], str | None]:
        """Return a page of rows, and the place of the next page.

        Rows of one partition follow each other. A page may be empty, and not be the last.
        """

    def partition(self, table: Table, owner: tuple[str, ...]) -> Iterator[Scanned]:
        """Yield the rows of one partition: of an account, a user, a campaign, a campaign's user."""

    def list_members(self, names: Sequence[tuple[str, str]]) -> list[Member]:
        """Return what budgets paid for, by campaign and packet, in no order."""

    def count_claims(self, pairs: Sequence[tuple[str, str]]) -> dict[tuple[str, str], int]:
        """Return the counts of users of campaigns, of those who have one."""

    def list_draws(self, names: Sequence[tuple[str, str, str]]) -> list[Draw]:
        """Return those draws that exist, by campaign, user and id, in no order."""

    def list_outside(self, accounts: Sequence[str]) -> list[Scanned]:
        """Return the rows of payments and withdrawals, by the names that they have in transfers."""

    def list_units(self, campaign_id: str, units: Sequence[Unit]) -> list[UnitWon]:
        """Return those units that were won, in no order."""


@dataclass(frozen=True, slots=True)
class SavedRun:
    """How far a reconciliation has come: *state* is JSON, *sums* are its sums by name."""

    state: str = "{}"
    sums: Mapping[str, bytes] = field(default_factory=dict)


class Runs(Protocol):
    """The one row of reconciliation: a run's progress and its lease."""

    def take(self, holder: str, now_ms: int, until_ms: int) -> SavedRun | None:
        """Hold the row until *until_ms* and return what is saved; None while another holds it."""

    def find(self) -> SavedRun:
        """Return what was saved last, also while another holds the row."""

    def hold(self, holder: str, until_ms: int) -> bool:
        """Hold the row until *until_ms*; False, without effect, if another has taken it."""

    def save(self, holder: str, run: SavedRun, until_ms: int) -> bool:
        """Save, and hold the row until *until_ms*; False, without effect, if another has it."""
