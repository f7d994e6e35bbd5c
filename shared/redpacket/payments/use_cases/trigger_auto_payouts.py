"""Notices of increased balances, which may trigger automatic payouts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from redpacket.ledger.provider_name import ProviderName
from redpacket.packets.model.claim import Share
from redpacket.payments.model.provider import ProviderEvent, ProviderEventKind
from redpacket.payments.ports import NoticeQueue


def trigger_auto_payouts(
    claims: Sequence[Share], *, channels: Iterable[ProviderName], queue: NoticeQueue
) -> None:
    """Queue a notice per user and channel at least once, with one of the user's claims as cause.

    Raises Unavailable.
    """
    causes = {share.claimer.user_id: share.name for share in claims if share.claimer}
    notices = [
        ProviderEvent(ProviderEventKind.BALANCE, f"balance:{cause}", user_id, cause)
        for user_id, cause in causes.items()
    ]
    for channel in channels:
        queue.put(channel, *notices)
