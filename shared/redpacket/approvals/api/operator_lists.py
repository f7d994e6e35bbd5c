"""Parameters and rows for operators' lists."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from redpacket.approvals.api import summaries
from redpacket.approvals.api.summaries import UsersById, host_id, nickname
from redpacket.approvals.model import CAMPAIGN_CURSOR
from redpacket.campaigns.errors import CampaignNotFound
from redpacket.campaigns.model import CAMPAIGN_ID, PRIZE_ID, Campaign
from redpacket.lottery.model.winners import Address, Winner, WinnerStatus
from redpacket.operations.model.limits import LimitName
from redpacket.operations.model.operators import ACTION_CURSOR, LoggedAction
from redpacket.operations.model.switches import Switch, switch_named
from redpacket.packets.api.packet_refs import packet_ref
from redpacket.packets.model.claim import Share
from redpacket.packets.model.packet import Packet, PacketStatus
from redpacket.packets.use_cases.read_records import status_of
from redpacket.platform.bounds import LIMIT_DEFAULT, LIMIT_MAX
from redpacket.platform.http.parameters import (
    choice,
    cursor,
    integer,
    matching,
    of_form,
    optional,
    required,
)
from redpacket.platform.http.request import person_of
from redpacket.platform.user import HOST_ID, User

if TYPE_CHECKING:
    from redpacket.approvals.api import list_answers as lists

SUBJECT = "((user|campaign|switch|limit|webhook|chat):[A-Za-z0-9_:-]{1,128}|ledger|reads)"

UNIT = rf"{PRIZE_ID.pattern}\.[1-9][0-9]{{0,6}}"

JOURNAL_COLUMNS = (
    *("at_ms", "operator", "action", "subject", "subject_user", "subject_name", "summary"),
    "changes",
)
CAMPAIGN_COLUMNS = (
    *("campaign_id", "title", "status", "starts_at_ms", "ends_at_ms"),
    *("budget_fen", "budget_left_fen", "version"),
)
PACKET_COLUMNS = (
    *("packet_id", "sender", "sender_token", "campaign_id", "prize_id", "kind", "status"),
    *("total_fen", "count", "claimed_count", "claimed_fen", "refunded_fen"),
    *("created_at_ms", "expires_at_ms", "sender_name", "packet_ref"),
)
CLAIM_COLUMNS = (
    *("share_no", "user", "user_token", "nickname", "amount_fen", "claimed_at_ms", "payout"),
    "via",
)
SHARER_COLUMNS = ("user", "user_token", "nickname", "claim_count")
WINNER_COLUMNS = (
    *("unit", "prize_id", "user", "user_token", "nickname", "won_at_ms"),
    *("status", "decided_at_ms", "note", "recipient", "phone", "address"),
)

action_cursor_of = cursor(ACTION_CURSOR)
campaign_cursor_of = cursor(CAMPAIGN_CURSOR)
hours_of = integer("hours", 1, 24, missing=1, meaning="Number of past hours to count.")
list_limit_of = integer(
    "limit", 1, LIMIT_MAX, missing=LIMIT_DEFAULT, meaning="Maximum items per page."
)
subject_of = matching(
    "subject",
    SUBJECT,
    "Subject of the actions: `campaign:`, `user:`, `switch:`, `limit:`, `webhook:` or `chat:` with "
    "an id or name, or `ledger`. `reads` lists reads of personal data, omitted by default.",
)
of_campaign = matching("campaign_id", CAMPAIGN_ID.pattern, "Only packets of this campaign.")
of_prize = matching("prize_id", PRIZE_ID.pattern, "Only winners of this prize.")
packet_status_of = choice("status", PacketStatus, "Only packets with this status.")
winner_status_of = choice("status", WinnerStatus, "Only winners with this status.")


@optional("query", "cursor", missing=None, type="string", pattern=f"^{UNIT}$")
def winner_cursor_of(text: str) -> tuple[str, int]:
    """`next` from the previous page."""
    return _unit(of_form("cursor", UNIT, text))


@required("path", "unit", type="string", pattern=f"^{UNIT}$")
def unit_of(text: str) -> tuple[str, int]:
    """Prize and number of the won unit."""
    if not re.fullmatch(UNIT, text):
        raise CampaignNotFound
    return _unit(text)


def _unit(text: str) -> tuple[str, int]:
    prize_id, _, unit_no = text.partition(".")
    return prize_id, int(unit_no)


@optional("query", "sender", missing=None, type="string", pattern=f"^{HOST_ID.pattern}$")
def sender_of(text: str) -> User:
    """Only packets from this user, given by host id."""
    return person_of(of_form("sender", HOST_ID.pattern, text))


@required("path", "user", type="string", pattern=f"^{HOST_ID.pattern}$")
def user_of(text: str) -> User:
    """Host id of the user."""
    return person_of(of_form("user", HOST_ID.pattern, text))


@required("path", "name", type="string", enum=list(Switch))
def switch_of(text: str) -> Switch:
    """The switch."""
    return switch_named(text)


@required("path", "name", type="string", enum=list(LimitName))
def limit_of(text: str) -> LimitName:
    """The limit."""
    return LimitName(of_form("name", "|".join(LimitName), text))


def action_view(noted: LoggedAction, users: UsersById) -> lists.ListedAction:
    """Return an audit log entry as shown to operators."""
    action = noted.action
    return {
        "at_ms": action.at_ms,
        "operator": summaries.named(action.operator, users),
        "action": action.kind,
        **summaries.subject_of(action.subject, users),
        "summary": summaries.action_summary(action, users),
        "changes": summaries.change_views(action.changes, users),
    }


def campaign_row(campaign: Campaign) -> lists.ListedCampaign:
    """Return a campaign's row."""
    return {
        "campaign_id": campaign.campaign_id,
        "title": campaign.title,
        "status": campaign.status,
        "starts_at_ms": campaign.starts_at_ms,
        "ends_at_ms": campaign.ends_at_ms,
        "budget_fen": campaign.budget_fen,
        "budget_left_fen": campaign.budget_left_fen,
        "version": campaign.version,
    }


def packet_row(packet: Packet, users: UsersById, *, has_id: bool) -> lists.ListedPacket:
    """Return a packet's row; omit an unpaid or open packet's id unless *has_id* is true."""
    end, sender = packet.end, packet.sender.user_id
    may_show = has_id or status_of(packet) not in {PacketStatus.UNPAID, PacketStatus.OPEN}
    return {
        "packet_id": packet.packet_id if may_show else None,
        "packet_ref": packet_ref(packet.packet_id),
        "sender": host_id(sender, users),
        "sender_token": sender,
        "sender_name": nickname(sender, users) or host_id(sender, users),
        "campaign_id": packet.rules.campaign_id,
        "prize_id": packet.rules.prize_id,
        "kind": packet.kind,
        "status": status_of(packet),
        "total_fen": packet.terms.total_fen,
        "count": packet.terms.count,
        "claimed_count": end.claimed_count if end else None,
        "claimed_fen": end.claimed_fen if end else None,
        "refunded_fen": end.refunded_fen if end else None,
        "created_at_ms": packet.created_at_ms,
        "expires_at_ms": packet.expires_at_ms,
    }


def claim_row(share: Share, users: UsersById) -> lists.ListedClaim:
    """Return a claim's row."""
    assert share.claimer
    claimer = share.claimer.user_id
    return {
        "share_no": share.share_no,
        "user": host_id(claimer, users),
        "user_token": claimer,
        "nickname": nickname(claimer, users),
        "amount_fen": share.amount_fen,
        "claimed_at_ms": share.decided_at_ms,
        "payout": "queued" if share.settled_at_ms is None else "settled",
        "via": share.via,
    }


def sharer_row(user_id: str, claim_count: int, users: UsersById) -> lists.ListedSharer:
    """Return the row of a user whose link led to claims."""
    return {
        "user": host_id(user_id, users),
        "user_token": user_id,
        "nickname": nickname(user_id, users),
        "claim_count": claim_count,
    }


def winner_view(winner: Winner) -> lists.DecidedWinner:
    """Return a won unit with the operator's decision."""
    decision = winner.decision
    return {
        "unit": winner.unit,
        "prize_id": winner.prize_id,
        "user_token": winner.user_id,
        "status": winner.status,
        "decided_at_ms": decision.at_ms if decision else None,
        "note": decision.note if decision else None,
    }


def winner_row(
    winner: Winner, won_at_ms: int, users: UsersById, address: Address | None
) -> lists.ListedWinner:
    """Return a winner's row, with *address* if one may be shown."""
    return {
        **winner_view(winner),
        "user": host_id(winner.user_id, users),
        "nickname": nickname(winner.user_id, users),
        "won_at_ms": won_at_ms,
        "recipient": address.name if address else None,
        "phone": address.phone if address else None,
        "address": address.address if address else None,
    }
