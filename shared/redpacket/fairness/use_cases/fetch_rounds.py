"""Fetcher of due beacon rounds for the draws, whose functions have no Internet access."""

from __future__ import annotations

from dataclasses import dataclass

from redpacket.fairness.beacon_ports import Beacon, Drawing, Rounds
from redpacket.fairness.model.beacon import LATE_MS, BeaconChain
from redpacket.fairness.model.days import day_at
from redpacket.platform.errors import Unavailable
from redpacket.platform.runtime import Clock, EventLogger

LOOK_EVERY_MS = 2_000

RETRY_EVERY_MS = 500
"""Milliseconds between retries of a late round: endpoints publish about a second late."""

_LATE_MS_MAX = 4_000
"""Milliseconds past its end in which a run may start another fetch, newest round first."""

RESERVE_MS = 10_000
"""Milliseconds left for the last round: each endpoint is tried once more."""


@dataclass(frozen=True, slots=True)
class FetchReport:
    """Numbers of rounds that one run stored, and that are still missing."""

    kept_count: int
    missing_count: int


def fetch_rounds(
    time_left_ms: int,
    *,
    chain: BeaconChain,
    beacon: Beacon,
    rounds: Rounds,
    clock: Clock,
    logger: EventLogger,
) -> FetchReport:
    """Store every round that becomes due within the time; the next run fetches the rest."""
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
            logger.failure("beacon_round_missing", error, round_no=round_no)
    for other in {campaign.beacon.chain for campaign in campaigns} - {chain}:
        logger.event("beacon_chain_unknown", chain_hash=other.chain_hash)
    return FetchReport(kept_count, len(missing))


def _keep(round_no: int, chain: BeaconChain, beacon: Beacon, rounds: Rounds) -> bool | None:
    """Store a round and return whether it is new, or None if no endpoint has it yet."""
    if rounds.find(chain.chain_hash, round_no):
        return False
    beacon_round = beacon.fetch(round_no)
    if beacon_round is None:
        return None
    rounds.keep(chain.chain_hash, beacon_round)
    return True


def _due(campaigns: list[Drawing], chain: BeaconChain, now_ms: int) -> set[int]:
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
