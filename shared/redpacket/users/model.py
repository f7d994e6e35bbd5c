"""Notices (消息): events that concern a user's packets, prizes and withdrawals."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

KEPT_S = 30 * 24 * 3600
"""Seconds for which a notice is shown."""

PAGE = 20
"""Notices per page; a page reads less than 4 KB, which costs half a read unit."""

CURSOR = r"[0-9]{13}#[a-z_]{1,20}#[!-~]{1,120}"
"""Pattern of a cursor: the sort key of a notice."""


class NoticeKind(StrEnum):
    """Kind of a notice. WITHDRAWAL_FAILED includes cancellations: both return the money."""

    PACKET_EMPTIED = "packet_emptied"
    PACKET_REFUNDED = "packet_refunded"
    THANKED = "thanked"
    BEST_LUCK = "best_luck"
    PRIZE_SENT = "prize_sent"
    WITHDRAWAL_PAID = "withdrawal_paid"
    WITHDRAWAL_FAILED = "withdrawal_failed"


@dataclass(frozen=True, slots=True)
class UserNotice:
    """Notice for one user about a packet, a campaign or a withdrawal.

    *at_ms*, *kind*, *subject* and *part* identify the notice, so a repeated write has no effect.
    *emoji* comes from thanks; their text is not copied, because an operator can remove it.
    """

    user_id: str
    kind: NoticeKind
    at_ms: int
    subject: str
    amount_fen: int | None = None
    emoji: str | None = None
    part: str = ""
