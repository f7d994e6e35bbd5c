"""Cache keys for limits, switches, and risk decisions."""

from __future__ import annotations


def limit(name: str, subject: str) -> str:
    """Return the key of a rate limit for one subject, in the subject's slot."""
    return f"rp:limit:{{{name}:{subject}}}"


def limit_within(name: str, group: str, subject: str) -> str:
    """Return the key of a rate limit for a group member, in the slot of the group's `limit`."""
    return f"{limit(name, group)}:{subject}"


def asked_verdict(user_id: str) -> str:
    """Return the key of the host's cached risk decision on a user."""
    return f"rp:{{asked:{user_id}}}"


SWITCH_COPY = "rp:switches:signed"
"""Key of the shared copy of the switches, which expires within seconds."""
