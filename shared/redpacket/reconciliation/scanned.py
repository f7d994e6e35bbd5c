"""What scans of the tables bring that no other rule has a word for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from redpacket.campaigns.model import Campaign
from redpacket.fairness.model.log import Commitment
from redpacket.ledger.model import Entry, Receipt
from redpacket.lottery.model.lottery import CampaignSnapshot, Draw
from redpacket.packets.model.claim import Claimer, Share
from redpacket.packets.model.packet import Packet
from redpacket.payments.model.payments import Payment, PaymentRefund, PaymentReturn
from redpacket.payments.model.withdrawals import Withdrawal
from redpacket.reconciliation.checks.facts import PlayerDay, Unit
from redpacket.reconciliation.checks.outside import BookedLine


@dataclass(frozen=True, slots=True)
class Balance:
    """An account's balance; *kept* are its sums by year, like "sent_fen_2026".

    *open_count* is the number of its packets that are open, count, and are paid for.
    *unpaid_count* is the number of those that are not paid for.
    """

    account: str
    balance_fen: int
    kept: Mapping[str, int]
    open_count: int = 0
    unpaid_count: int = 0


@dataclass(frozen=True, slots=True)
class UnreadableRow:
    """A row that no function of ours writes."""

    key: str


@dataclass(frozen=True, slots=True)
class ClaimCount:
    """How many shares of a campaign a user has taken, as its quota counts them."""

    campaign_id: str
    user_id: str
    count: int
    first_at_ms: int


@dataclass(frozen=True, slots=True)
class Member:
    """That a campaign's budget paid for a packet."""

    campaign_id: str
    packet_id: str
    total_fen: int
    created_at_ms: int


@dataclass(frozen=True, slots=True)
class UnitWon:
    """A unit of a prize, or of a day's stock, with who won it."""

    campaign_id: str
    unit: Unit
    user_id: str


@dataclass(frozen=True, slots=True)
class Played:
    """A user's counts of one day of a lottery."""

    campaign_id: str
    player: PlayerDay


@dataclass(frozen=True, slots=True)
class WonOnce:
    """A user's win of a once-only prize."""

    campaign_id: str
    user_id: str
    prize_id: str
    draw_id: str


@dataclass(frozen=True, slots=True)
class HelpGiven:
    """That a friend gave a user an attempt of a day."""

    campaign_id: str
    user_id: str
    day: str


@dataclass(frozen=True, slots=True)
class Withdrawn:
    """Count and sum of a user's withdrawals of one day, as the daily limit counts them."""

    user_id: str
    day: str
    count: int
    fen: int


@dataclass(frozen=True, slots=True)
class Logged:
    """An entry of the public log with its place."""

    index: int
    entry: Commitment


Scanned: TypeAlias = (
    Balance
    | Entry
    | Receipt
    | Packet
    | Share
    | Claimer
    | ClaimCount
    | Campaign
    | Member
    | CampaignSnapshot
    | Draw
    | UnitWon
    | Played
    | WonOnce
    | HelpGiven
    | Payment
    | PaymentRefund
    | PaymentReturn
    | Withdrawal
    | Withdrawn
    | BookedLine
    | Logged
    | UnreadableRow
)
