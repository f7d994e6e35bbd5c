"""Settlement of a batch of claims, including the claimers' profiles, unless payouts are off."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from redpacket.operations.model.switches import Switch
from redpacket.packets.model.claim import Share, ShareRef
from redpacket.packets.ports import PayoutQueue
from redpacket.packets.use_cases.settle_claims import SettlePorts, settle_claims
from redpacket.platform.bounds import MESSAGE_DELAY_S_MAX
from redpacket.platform.errors import Unavailable
from redpacket.platform.runtime import EventLogger, InParallel
from redpacket.platform.user import User
from redpacket.users.ports import ProfileRepository

_DELAY_S_MIN = 10


def settle_or_delay(
    refs: Iterable[ShareRef],
    *,
    is_on: Callable[[Switch], bool],
    profiles: ProfileRepository,
    announce_claims: Callable[[Sequence[Share]], None] | None,
    ports: SettlePorts,
) -> set[ShareRef]:
    """Settle the claims, or delay them while payouts are off; return the claims to redeliver."""
    refs = list(refs)
    if not is_on(Switch.PAYOUT):
        delay_claims(refs, payouts=ports.payouts, logger=ports.logger, now_ms=ports.clock.now_ms())
        return set()
    unpaid = settle_claims(refs, announce_claims=announce_claims, ports=ports)
    # Pay first: if saving a profile fails, the redelivered message finds the claim already paid.
    return unpaid | save_claimer_profiles(
        refs, profiles=profiles, logger=ports.logger, in_parallel=ports.in_parallel
    )


def delay_claims(
    refs: Iterable[ShareRef], *, payouts: PayoutQueue, logger: EventLogger, now_ms: int
) -> set[ShareRef]:
    """Queue *refs* again with a delay, before SQS deletes the old messages; return an empty set.

    The delay is the time since the youngest claim's first message, so a long pause costs few calls.
    """
    pending = list(dict.fromkeys(refs))
    age_s = min((now_ms - (ref.said_at_ms or now_ms)) // 1000 for ref in pending)
    payouts.put(pending, delay_s=min(max(_DELAY_S_MIN, age_s), MESSAGE_DELAY_S_MAX))
    logger.event("payouts_paused", claim_count=len(pending))
    return set()


def save_claimer_profiles(
    refs: Iterable[ShareRef],
    *,
    profiles: ProfileRepository,
    logger: EventLogger,
    in_parallel: InParallel,
) -> set[ShareRef]:
    """Store the profiles that the messages contain; return the claims to redeliver."""
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
