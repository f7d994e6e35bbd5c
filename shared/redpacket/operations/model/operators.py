"""Operators, their duties, and their logged actions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from redpacket.platform.errors import Forbidden
from redpacket.platform.user import User


class Duty(StrEnum):
    """Permission of an operator's role."""

    OPERATE = "operate"
    TREASURY = "treasury"
    AUDIT = "audit"


@dataclass(frozen=True, slots=True)
class Operator:
    """Operator who made a request; *approved* is the move that another operator approved."""

    person: User
    duties: frozenset[Duty] = frozenset(Duty)
    approved: Approved | None = None

    @property
    def user_id(self) -> str:
        """The operator's id in the audit log."""
        return self.person.user_id

    def require(self, duty: Duty) -> None:
        """Raise Forbidden unless the operator has *duty*."""
        if duty not in self.duties:
            raise Forbidden(f"This operation needs the scope hongbao/{duty}.")


class ActionKind(StrEnum):
    """Kind of an operator's action."""

    DEPOSIT = "deposit"
    CAMPAIGN_EDITED = "campaign_edited"
    CAMPAIGN_PREHEATED = "campaign_preheated"
    PACKET_SENT = "packet_sent"
    PACKET_ENDED = "packet_ended"
    PEOPLE_READ = "people_read"
    PACKET_LOOKED_UP = "packet_looked_up"
    PRIZE_EDITED = "prize_edited"
    PRIZE_FUNDED = "prize_funded"
    STOCK_CHANGED = "stock_changed"
    APPROVAL_ASKED = "approval_asked"
    APPROVAL_DECIDED = "approval_decided"
    WINNER_DECIDED = "winner_decided"
    AUDIENCE_EDITED = "audience_edited"
    USER_JUDGED = "user_judged"
    USER_ERASED = "user_erased"
    PICTURE_UPLOADED = "picture_uploaded"
    PICTURE_REMOVED = "picture_removed"
    THANKS_REMOVED = "thanks_removed"
    WEBHOOK_EDITED = "webhook_edited"
    WEBHOOK_KEY_ROTATED = "webhook_key_rotated"
    WEBHOOK_REPLAYED = "webhook_replayed"
    CHAT_ADMITTED = "chat_admitted"
    CHAT_REVOKED = "chat_revoked"
    SWITCH_TURNED = "switch_turned"
    LIMIT_SET = "limit_set"
    RECONCILED = "reconciled"
    RETURN_RESOLVED = "return_resolved"
    CAMPAIGN_MONEY_MOVED = "campaign_money_moved"
    CAMPAIGN_MARK_REMOVED = "campaign_mark_removed"
    # Only the command-line tool writes the following kinds, for operators with AWS credentials.
    BALANCE_CORRECTED = "balance_corrected"
    WITHDRAWAL_RETURNED = "withdrawal_returned"
    COMMAND_RUN = "command_run"
    # Kind of an unreadable row: forged, or written by a newer version before a rollback.
    UNREADABLE = "unreadable"


@dataclass(frozen=True, slots=True)
class Change:
    """Field that an action changed, with the old and new values; None means no value."""

    field: str
    before: str | None
    after: str | None


@dataclass(frozen=True, slots=True)
class Approved:
    """Move of money as the approver saw it; the applied move must be identical."""

    subject: str
    amount_fen: int
    changes: tuple[Change, ...]


@dataclass(frozen=True, slots=True)
class Action:
    """Operator's action on *subject*, for the audit log."""

    operator: User
    kind: ActionKind
    subject: str
    at_ms: int
    changes: tuple[Change, ...] = ()
    is_approved: bool = False

    @property
    def operator_id(self) -> str:
        """Pseudonym of the operator."""
        return self.operator.user_id


@dataclass(frozen=True, slots=True)
class LoggedAction:
    """Logged action with its position in the audit log."""

    action: Action
    position: str


ACTION_CURSOR = "[0-9]{13}#[0-9a-f]{16}"
"""Pattern of an audit log cursor: the sort key of an action."""


Facts: TypeAlias = Mapping[str, object]


def changes_between(before: Facts | None, after: Facts) -> tuple[Change, ...]:
    """Return the fields of *after* that differ from *before*, or all if *before* is None."""
    return tuple(
        Change(field, _text(before[field]) if before else None, _text(value))
        for field, value in after.items()
        if before is None or before[field] != value
    )


def _text(value: object) -> str | None:
    if value is None or isinstance(value, str):
        return value
    # Import json lazily: SendFunction also loads this module, and only edits need json.
    import json

    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=True)


def user_subject(user_id: str) -> str:
    """Return a user's name in the audit log."""
    return f"user:{user_id}"


def campaign_subject(campaign_id: str) -> str:
    """Return a campaign's name in the audit log, also used for its prizes, packets and winners."""
    return f"campaign:{campaign_id}"


def webhook_subject(name: str) -> str:
    """Return a webhook's name in the audit log."""
    return f"webhook:{name}"


def switch_subject(name: str) -> str:
    """Return a switch's name in the audit log."""
    return f"switch:{name}"


LEDGER_SUBJECT = "ledger"

READS_SUBJECT = "reads"
"""Subject under which reads of personal data are logged; the list of all actions omits them."""
