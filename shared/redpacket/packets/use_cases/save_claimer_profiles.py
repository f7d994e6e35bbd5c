"""Storage of profiles from claim messages, because the ledger has only pseudonymous ids."""

from __future__ import annotations

from collections.abc import Iterable

from redpacket.packets.model.claim import ShareRef
from redpacket.platform.errors import Unavailable
from redpacket.platform.runtime import EventLogger, InParallel
from redpacket.platform.user import User
from redpacket.users.ports import ProfileRepository


def save_claimer_profiles(
    refs: Iterable[ShareRef],
    *,
    profiles: ProfileRepository,
    logger: EventLogger,
    in_parallel: InParallel,
) -> set[ShareRef]:
    """Store the profiles in messages; return the claims to redeliver."""
    named = [ref for ref in refs if ref.claimer and ref.claimer.host_id]
    claimers: dict[User, int] = {}
    for ref in named:
        if ref.claimer:
            claimers[ref.claimer] = max(ref.said_at_ms, claimers.get(ref.claimer, 0))

    def note(person: User) -> None:
        profiles.note(person, claimers[person])

    try:
        in_parallel(note, profiles.list_unnoted(list(claimers)))
    except Unavailable as error:
        logger.failure("people_not_noted", error, count=len(named))
        return set(named)
    return set()
