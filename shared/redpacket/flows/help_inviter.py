"""Help (助力): a friend says a campaign's phrase, and whoever shared it may draw once more."""

from __future__ import annotations

from dataclasses import dataclass

from redpacket.domain.lottery import HelpStatus
from redpacket.flows.recall_table import RecalledTables
from redpacket.ports import (
    Clock,
    DrawBoard,
    Draws,
    Journal,
    Limits,
    Phrases,
    PublicTokens,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class HelpDesk:
    """The ports that every help passes."""

    board: DrawBoard
    draws: Draws
    tables: RecalledTables
    tokens: PublicTokens
    phrases: Phrases
    limits: Limits
    clock: Clock
    journal: Journal


@dataclass(frozen=True, slots=True)
class Helped:
    """What a helper is told: *attempts_left* are the inviter's of today, None without a limit.

    *status* is HELPED or HELPED_BEFORE.
    """

    status: HelpStatus
    attempts_left: int | None


def help_inviter(
    campaign_id: str, helper_id: str, inviter_token: str, said: str, *, desk: HelpDesk
) -> Helped:
    """Give the inviter one more attempt today, once per pair for ever.

    Raises CampaignNotFound, CampaignNotStarted, CampaignEnded, CampaignPaused; InvalidRequest
    where the token is nobody's; SelfHelp, PassphraseMismatch, RateLimited, HelpQuotaExhausted.
    """
    raise NotImplementedError
