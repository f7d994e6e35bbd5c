"""Fetch the rounds of the beacon that are due, verify them, and keep them for the draws.

The crowd's functions have no way out to the Internet, so that one function waits for all of them.
"""

from __future__ import annotations

from dataclasses import dataclass

from redpacket.domain.beacon import LATE_MS, BeaconChain
from redpacket.domain.errors import Unavailable
from redpacket.domain.lottery import day_at
from redpacket.ports.beacon import Beacon, Drawing, Rounds
from redpacket.ports.runtime import Clock, Journal

LOOK_EVERY_MS = 2_000
"""Who waits is noticed within that, before their round is due."""

RETRY_EVERY_MS = 500
"""While a round is late: endpoints have it about a second after its time."""

_LATE_MS_MAX = 4_000
"""So long after its time a run may still begin to ask: where endpoints hang, each round takes some
seconds. The newest round comes first."""


@dataclass(frozen=True, slots=True)
class FetchReport:
    """What one run did: rounds that it kept, and those that it still waits for."""

    kept_count: int
    missing_count: int


def fetch_rounds(
    time_left_ms: int,
    *,
    chain: BeaconChain,
    beacon: Beacon,
    rounds: Rounds,
    clock: Clock,
    journal: Journal,
) -> FetchReport:
    """Keep each round that becomes due while there is time; the next run fetches the others."""
    stop_at_ms = clock.now_ms() + time_left_ms
    there: set[int] = set()
    kept_count = 0
    while True:
        at_ms = clock.now_ms()
        campaigns = rounds.list_drawing(at_ms)
        due = _due(campaigns, chain, at_ms) - there
        for round_no in sorted(due, reverse=True):
            if clock.now_ms() - stop_at_ms > _LATE_MS_MAX:
                break
            is_new = _keep(round_no, chain, beacon, rounds)
            if is_new is not None:
                there.add(round_no)
                kept_count += is_new
        missing = due - there
        wait_ms = RETRY_EVERY_MS if missing else LOOK_EVERY_MS
        if clock.now_ms() + wait_ms >= stop_at_ms:
            break
        clock.sleep_ms(wait_ms)
    for round_no in missing:
        if clock.now_ms() - chain.time_ms(round_no) >= LATE_MS:
            error = Unavailable(f"no endpoint has round {round_no}")
            journal.failure("beacon_round_missing", error, round_no=round_no)
    for other in {campaign.beacon.chain for campaign in campaigns} - {chain}:
        journal.event("beacon_chain_unknown", chain_hash=other.chain_hash)
    return FetchReport(kept_count, len(missing))


def _keep(round_no: int, chain: BeaconChain, beacon: Beacon, rounds: Rounds) -> bool | None:
    """Keep a round, and tell whether that is new; None where no endpoint has it by now."""
    if rounds.find(chain.chain_hash, round_no):
        return False
    found = beacon.fetch(round_no)
    if found is None:
        return None
    rounds.keep(chain.chain_hash, found)
    return True


def _due(campaigns: list[Drawing], chain: BeaconChain, now_ms: int) -> set[int]:
    """Return the rounds of today, whose time has come, of the campaigns that draw now."""
    due = set()
    for campaign in campaigns:
        if campaign.beacon.chain != chain:
            continue
        day = day_at(campaign.beacon.timezone, now_ms)
        is_drawn = day.ends_at_ms > campaign.starts_at_ms
        round_no = campaign.beacon.round_of(day.starts_at_ms)
        if is_drawn and chain.time_ms(round_no) <= now_ms:
            due.add(round_no)
    return due
