"""Sentences about operators' actions and pending changes.

Users appear under their host ids, which they cannot choose. A nickname is a separate field, so that
a rename never changes a sentence.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

from redpacket.approvals.model import Approval, ApprovalKind
from redpacket.operations.model.operators import Action, ActionKind, Change
from redpacket.platform.settings import settings
from redpacket.platform.user import User

if TYPE_CHECKING:
    from redpacket.approvals.api.list_answers import ActionChange, NamedSubject, OperatorName

UsersById: TypeAlias = Mapping[str, User]

_USER = "user:"

_PEOPLE = {"from", "to"}
"""Names of changed fields that contain user ids."""

_ID_LENGTH_MAX = 128
"""Maximum length of an id to look up; an overlong key would fail the whole page's lookup."""

_SENTENCES = {
    ActionKind.DEPOSIT: "deposited {amount_fen} for {subject}{purpose}",
    ActionKind.CAMPAIGN_EDITED: "{edited} {subject}{fields}",
    ActionKind.CAMPAIGN_PREHEATED: "loaded {subject} into the cache",
    ActionKind.PACKET_SENT: "sent a packet of {total_fen} in {count} shares{lock} for {subject}",
    ActionKind.PACKET_ENDED: "ended packet {packet_id} of {subject}",
    ActionKind.PEOPLE_READ: "read personal data in the list {list} as {format} (rows: {row_count})",
    ActionKind.PACKET_LOOKED_UP: "looked up the id of packet {packet_id} of {subject}",
    ActionKind.PRIZE_EDITED: "{edited} prize {prize_id} of {subject}{fields}",
    ActionKind.PRIZE_FUNDED: "funded prize {prize_id} of {subject} with {total_fen}",
    ActionKind.STOCK_CHANGED: "changed the stock of prize {prize_id} of {subject}",
    ActionKind.APPROVAL_ASKED: "requested a change of {subject}",
    ActionKind.APPROVAL_DECIDED: "{status} a change of {subject} that moves {amount_fen}",
    ActionKind.WINNER_DECIDED: "marked unit {unit} of {subject} as {winner}",
    ActionKind.AUDIENCE_EDITED: "edited the audience of {subject}",
    ActionKind.USER_JUDGED: "set the risk decision on {subject} to {verdict}",
    ActionKind.USER_ERASED: "erased {subject}",
    ActionKind.PICTURE_UPLOADED: "uploaded picture {picture_id} for prizes",
    ActionKind.PICTURE_REMOVED: "removed a picture of {subject}",
    ActionKind.THANKS_REMOVED: "removed the thanks of {subject} for packet {packet_id}",
    ActionKind.WEBHOOK_EDITED: "edited {subject}",
    ActionKind.WEBHOOK_KEY_ROTATED: "rotated the secret of {subject}",
    ActionKind.WEBHOOK_REPLAYED: "replayed failed deliveries of {subject}",
    ActionKind.CHAT_ADMITTED: "admitted {subject}{fields}",
    ActionKind.CHAT_REVOKED: "revoked {subject}",
    ActionKind.SWITCH_TURNED: "turned {subject} {on}",
    ActionKind.LIMIT_SET: "set {subject} to {value}",
    ActionKind.RECONCILED: "started a reconciliation",
    ActionKind.RETURN_RESOLVED: "resolved the return of {amount_fen} to {subject}",
    ActionKind.CAMPAIGN_MONEY_MOVED: "moved {amount_fen} of campaign money from {subject}",
    ActionKind.CAMPAIGN_MARK_REMOVED: "removed the campaign mark from {subject}",
    ActionKind.BALANCE_CORRECTED: "corrected the balance of {subject} to {balance_fen}",
    ActionKind.WITHDRAWAL_RETURNED: "decided to return {subject}",
    ActionKind.COMMAND_RUN: "ran {command}",
    ActionKind.UNREADABLE: "is named by a row that this version can't read",
}

_PASSPHRASE = {"true": " with a passphrase", "false": " without a passphrase"}
"""Part of the sentence about a packet, by `has_passphrase`, which older rows lack."""

_ASKED = {
    ApprovalKind.DEPOSIT: "deposit {amount_fen} for {subject}{purpose}",
    ApprovalKind.CAMPAIGN: "edit {subject}, which affects {amount_fen}",
    ApprovalKind.PRIZE: "edit prize {prize_id} of {subject}, which affects {cash}",
    ApprovalKind.STOCK: "change the stock of {subject}, which affects {cash}",
    ApprovalKind.CAMPAIGN_MONEY: "move {amount_fen} of campaign money to {subject}",
    ApprovalKind.UNREADABLE: "make a change that can't be verified",
}


def named(operator: User, users: UsersById) -> OperatorName:
    """Return an operator, preferably with the row's host id, which survives an erasure."""
    user_id, known = operator.user_id, users.get(operator.user_id)
    nickname = known.nickname if known else None
    return {"id": user_id, "user": operator.host_id or host_id(user_id, users), "name": nickname}


def subject_of(subject: str, users: UsersById) -> NamedSubject:
    """Return the fields that describe a subject; for a user, also the host id and the nickname."""
    user_id = subject.removeprefix(_USER) if subject.startswith(_USER) else ""
    return {
        "subject": subject,
        "subject_user": host_id(user_id, users),
        "subject_name": nickname(user_id, users),
    }


def host_id(user_id: str, users: UsersById) -> str | None:
    """Return a user's host id; None if the id is unknown or erased."""
    return users[user_id].host_id if user_id in users else None


def nickname(user_id: str, users: UsersById) -> str | None:
    """Return a user's nickname, if any."""
    return users[user_id].nickname if user_id in users else None


def ids_of(actions: Sequence[Action | Approval]) -> list[str]:
    """Return the ids of the users in *actions*, except ids that are too long to look up."""
    subjects = [action.subject.removeprefix(_USER) for action in actions if _USER in action.subject]
    changes = [change for action in actions for change in action.changes]
    named_there = [change.after or "" for change in changes if change.field in _PEOPLE]
    named = [*(action.operator_id for action in actions), *subjects, *named_there]
    return [user_id for user_id in named if 0 < len(user_id) <= _ID_LENGTH_MAX]


def change_views(changes: Sequence[Change], users: UsersById) -> list[ActionChange]:
    """Return changed fields with old and new values; users appear by host id."""

    def shown(field: str, value: str | None) -> str | None:
        return host_id(value, users) or value if value and field in _PEOPLE else value

    return [
        {"field": field, "before": shown(field, each.before), "after": shown(field, each.after)}
        for each in changes
        for field in [each.field]
    ]


def action_summary(action: Action, users: UsersById) -> str:
    """Return one sentence about an operator's action."""
    done = _SENTENCES[action.kind].format_map(_Facts(action.subject, action.changes, users))
    return f"{_operator(action.operator, users)} {done}"


def approval_summary(approval: Approval, users: UsersById) -> str:
    """Return one sentence about a pending change."""
    facts = _Facts(approval.subject, approval.changes, users)
    facts["amount_fen"] = facts["cash"] = settings.unit.text(approval.amount_fen)
    if "drawn_before" in facts:
        facts["cash"] += "; users may have drawn before"
    request = _ASKED[approval.kind].format_map(facts)
    return f"{_operator(approval.operator, users)} asks to {request}"


class _Facts(dict[str, str]):
    """Values for a sentence; a value that an older row lacks becomes an ellipsis."""

    def __init__(self, subject: str, changes: Sequence[Change], users: UsersById) -> None:
        super().__init__({each.field: _text(each) for each in changes})
        kind, _, name = subject.partition(":")
        self["subject"] = (
            host_id(name, users) or name
            if kind == "user"
            else f"{kind} {name}"
            if name
            else f"the {kind}"
        )
        recipients = self.get("recipients", "0")
        self["purpose"] = ", for campaigns only" if "is_for_campaigns" in self else ""
        self["lock"] = _PASSPHRASE.get(self.get("has_passphrase", ""), "")
        if recipients != "0":
            self["lock"] += f" to {recipients} chosen recipient{'' if recipients == '1' else 's'}"
        is_new = all(each.before is None for each in changes)
        self["edited"] = "created" if is_new else "edited"
        changed = [_field(each) for each in changes if each.before != each.after]
        self["fields"] = f": {', '.join(changed)}" if changed and not is_new else ""

    def __missing__(self, field: str) -> str:
        return "…"


def _field(change: Change) -> str:
    return re.sub(r"_(fen|ms)$", "", change.field).replace("_", " ")


def _text(change: Change) -> str:
    if change.field.endswith("_fen") and (change.after or "").lstrip("-").isdigit():
        return settings.unit.text(int(change.after or 0))
    if change.field == "on":
        return "on" if change.after == "true" else "off"
    if change.after is None:
        return "its default"
    return change.after if change.field.endswith("_id") else change.after.replace("_", " ")


def _operator(operator: User, users: UsersById) -> str:
    return named(operator, users)["user"] or operator.user_id
