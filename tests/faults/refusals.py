"""Judgment of refusals by the ledger's rows at the times of the request and of the answer.

A refusal is wrong if the ledger contradicted it at both times. Some refusals are never wrong;
others may be wrong for a while after a failover or an edit: `BOUND_MS` of docs/invariants.md.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from redpacket.campaigns.dynamodb import keys as campaign_keys
from redpacket.campaigns.errors import CampaignPaused
from redpacket.campaigns.model import CampaignStatus
from redpacket.packets.dynamodb import keys
from redpacket.packets.errors import (
    GrabTokenInvalid,
    NotInvited,
    PacketEmptied,
    PacketExpired,
    PacketNotStarted,
    PassphraseMismatch,
    QuotaExhausted,
)
from redpacket.packets.model.packet import Packet, PacketStatus
from redpacket.platform.dynamodb.client import from_wire
from redpacket.platform.errors import RateLimited, Rejected
from redpacket.platform.user import User
from testing.fakes import FakeDynamo, Item
from tests.faults.process import SKEW_MAX_MS

BOUND_MS = 60_000
"""Milliseconds after the last failover, flush or edit in which a grab may be refused wrongly."""

PASSES = (PacketEmptied, PacketExpired, QuotaExhausted, CampaignPaused, PacketNotStarted)
"""Refusals that may be wrong for a while; any other wrong refusal fails at once."""


@dataclass(frozen=True, slots=True)
class Known:
    """State of one user and packet in the ledger at one time."""

    at_ms: int
    owns: bool
    status: PacketStatus
    claim_count: int
    campaign: Mapping[str, Any] | None
    token_ends_at_ms: int = 0
    """Expiry of the user's grab token in milliseconds, or 0 if there is none."""

    @property
    def may_take_more(self) -> bool:
        """Return whether the campaign's quota leaves a share for the user."""
        if not self.campaign:
            return True
        count_max: int = self.campaign["quota_per_user"]
        return count_max == 0 or self.claim_count < count_max

    @property
    def is_on(self) -> bool:
        """Return whether the packet's campaign, if it has one, is on."""
        return not self.campaign or self.campaign["status"] == CampaignStatus.ON

    def window(self, packet: Packet) -> tuple[int, int]:
        """Return the packet's start and end by its campaign's current window."""
        if not self.campaign:
            return packet.starts_at_ms, packet.expires_at_ms
        return packet.rules.window_in(self.campaign["starts_at_ms"], self.campaign["ends_at_ms"])


def read_facts(dynamo: FakeDynamo, packet: Packet, user_id: str, at_ms: int) -> Known:
    """Read the ledger without any fault or delay."""
    packet_id, campaign_id = packet.packet_id, packet.rules.campaign_id
    status = _row(dynamo, "packets", keys.packet(packet_id))["status"]["S"]
    campaign, claim_count = None, 0
    if campaign_id:
        campaign = from_wire(_row(dynamo, "campaigns", campaign_keys.campaign(campaign_id)))
        counted = _row(dynamo, "quotas", keys.claim_count(campaign_id, user_id))
        claim_count = int(counted["claim_count"]["N"]) if counted else 0
    owns = bool(_row(dynamo, "shares", keys.claimer(packet_id, user_id)))
    return Known(at_ms, owns, PacketStatus(status), claim_count, campaign)


def is_wrong(
    refusal: Rejected,
    packet: Packet,
    user: User,
    passphrase: str | None,
    before: Known,
    after: Known,
) -> bool:
    """Return whether the ledger contradicted the refusal at the request and at the answer."""
    rules, slack_ms = packet.rules, 2 * SKEW_MAX_MS
    match refusal:
        case RateLimited():
            says_otherwise = False
        case NotInvited():
            is_listed = not rules.recipients or user.user_id in rules.recipients
            says_otherwise = is_listed and (rules.chat_id is None or rules.chat_id == user.chat_id)
        case PassphraseMismatch():
            says_otherwise = rules.passphrase is None or passphrase == rules.passphrase
        case PacketEmptied():
            says_otherwise = False
        case PacketExpired():
            ends_at_ms = min(before.window(packet)[1], after.window(packet)[1])
            is_early = after.at_ms < ends_at_ms - slack_ms
            says_otherwise = is_early and after.status is PacketStatus.OPEN
        case QuotaExhausted():
            says_otherwise = before.may_take_more and after.may_take_more
        case CampaignPaused():
            says_otherwise = before.is_on and after.is_on
        case GrabTokenInvalid():
            # An admitted user gets the same token again, however soon it expires.
            says_otherwise = after.at_ms < before.token_ends_at_ms - slack_ms
        case PacketNotStarted():
            starts_at_ms = max(before.window(packet)[0], after.window(packet)[0])
            says_otherwise = before.at_ms > starts_at_ms + slack_ms
        case _:
            # The packet exists, and every request is well-formed.
            says_otherwise = True
    # Owners get their share, except those who must first enter a passphrase.
    return says_otherwise or (before.owns and isinstance(refusal, PASSES))


def _row(dynamo: FakeDynamo, table: str, key: Mapping[str, str]) -> Item:
    rows = dynamo.tables.get(table)
    return rows.get((key["pk"], key.get("sk", "")), {}) if rows else {}
