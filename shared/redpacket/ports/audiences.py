"""What campaigns' lists of users and the host's verdicts need from outside."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from redpacket.domain.campaign import AudienceMode
    from redpacket.domain.risk import Verdict


class AudienceRows(Protocol):
    """The lists themselves: durable, and the truth where the cache says something else."""

    def edit(self, campaign_id: str, add: Sequence[str], remove: Sequence[str]) -> int:
        """Put users on a campaign's list and take others from it; return how many are on it then.

        Users who are on it already, or are not on it, count nothing. Raises InvalidRequest where
        the list would be too long; what came before the last hundred of *add* stays then.
        """

    def set_mode(self, campaign_id: str, mode: AudienceMode) -> None:
        """Say what the list is for; the same one again changes nothing."""

    def list_members(self, campaign_id: str, bucket: int) -> list[str]:
        """Return the users of one part of a list, read strongly."""


class Verdicts(Protocol):
    """What the host says of users; claims and draws see it in the rows that they ask anyway."""

    def put(self, user_id: str, verdict: Verdict) -> None:
        """Keep a verdict in place of an earlier one."""


class Hook(Protocol):
    """The host's own risk control, somewhere on the Internet."""

    def ask(self, host_id: str) -> bool | None:
        """Tell whether the host lets a user take part; None where it does not say so in time."""


class AskedVerdicts(Protocol):
    """The memory of what the hook has said."""

    def find(self, user_id: str) -> bool | None:
        """Tell what was said of a user; None where it is not known any more."""

    def keep(self, user_id: str, *, is_allowed: bool, for_ms: int) -> None:
        """Remember it for a while."""


class AudienceCache(Protocol):
    """The cache's copy of the lists, part by part; it refuses users, and the ledger decides."""

    def begin_load(self, campaign_id: str, bucket: int, life_ms: int) -> str | None:
        """Give one of many callers its turn to load a part; None to the others."""

    def load(self, campaign_id: str, bucket: int, turn: str, user_ids: Sequence[str]) -> bool:
        """Bring a part that was read in this turn; False if the list was edited meanwhile."""

    def edit(self, campaign_id: str, add: Sequence[str], remove: Sequence[str]) -> None:
        """Apply an edit that is durable to the parts that are loaded."""
