"""Notices that settled claims raised balances, which may trigger automatic payouts."""

from __future__ import annotations

from collections.abc import Sequence

from redpacket.domain.claim import ShareFate
from redpacket.domain.gateway import Channel, Notice, NoticeKind
from redpacket.ports.gateways import NoticeQueue


def announce_balances(claims: Sequence[ShareFate], *, channel: Channel, queue: NoticeQueue) -> None:
    """Queue a notice per user at least once, caused by one of their claims. Raises Unavailable."""
    causes = {share.taker.user_id: share.name for share in claims if share.taker}
    queue.put(
        channel,
        *(
            Notice(NoticeKind.BALANCE, f"balance:{cause}", user_id, cause)
            for user_id, cause in causes.items()
        ),
    )
