"""Settlement of a batch of claims, with the users' profiles, unless payouts are off."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from redpacket.operations.model.switches import Switch
from redpacket.packets.model.claim import Share, ShareRef
from redpacket.packets.use_cases.delay_claims import delay_claims
from redpacket.packets.use_cases.save_claimer_profiles import save_claimer_profiles
from redpacket.packets.use_cases.settle_claims import SettlePorts, settle_claims
from redpacket.users.ports import ProfileRepository


def settle_or_delay(
    refs: Iterable[ShareRef],
    *,
    is_on: Callable[[Switch], bool],
    profiles: ProfileRepository,
    announce_claims: Callable[[Sequence[Share]], None] | None,
    ports: SettlePorts,
) -> set[ShareRef]:
    """Return the claims to redeliver; none while payouts are off."""
    refs = list(refs)
    if not is_on(Switch.PAYOUT):
        return delay_claims(
            refs, payouts=ports.payouts, logger=ports.logger, now_ms=ports.clock.now_ms()
        )
    unpaid = settle_claims(refs, announce_claims=announce_claims, ports=ports)
    # Money first: a message redelivered for a profile finds its claim already paid.
    return unpaid | save_claimer_profiles(
        refs, profiles=profiles, logger=ports.logger, in_parallel=ports.in_parallel
    )
