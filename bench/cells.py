"""Load model of stacks in virtual time. It counts the grabs of a rush that each limit refuses.

The model treats load as a fluid, and advances in steps of 0.1 s. Of the refused users, 70% retry
after two seconds. See docs/capacity.md for AWS's limits and the planning figures.
"""

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from bench import report
from bench.capacity import (
    LOSER_CPU_S,
    PARTITION_WRITE_UNITS,
    PAYOUT_S,
    REQUESTS_PER_CONCURRENCY,
    TABLE_UNITS_QUOTA,
    WINNER_CPU_S,
    ledger,
)
from bench.deployment import ledger_of
from local.template import read_template
from redpacket.packets.use_cases.settle_claims import CLAIMS_PER_READ

STEP_S = 0.1
LOSER_S, WINNER_S, START_S = 0.006, 0.045, 0.6
"""Seconds that the grab function takes for a loser, for a winner, and for a cold start."""
ENVIRONMENTS_PER_S = 100
"""Environments that Lambda starts per second for one function: 1,000 in ten seconds."""
LEDGER = ledger()
UNITS_PER_FOREIGN = 3.0
"""Outbox write units for a claim by another stack's user, in a design that was not built."""
INDEX_UNITS_PER_CLAIM = 2
PAYOUTS_AT_FIRST, PAYOUTS_PER_S = 5, 5
"""Initial number of concurrent payouts, and the number that Lambda adds per second."""
SENDS_PER_CLAIM = 0.1
TRY_AGAIN_S, TRY_AGAIN = 2.0, 0.7
RISE_S, HOLD_S, FALL_S = 10, 60, 60
RUSH_S = RISE_S + HOLD_S + FALL_S
SECONDS_MAX = 7_200


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of one stack, which come from its account, its Region, and its parameters."""

    api_per_s: float
    api_burst: float
    table_units: float
    warm_units: float
    settling_units: float
    work_shards: float
    payouts: float
    log_per_s: float
    environments: float = 1_000
    warm_environments: float = 0
    shards: float = 1


@dataclass(slots=True)
class Stack:
    """One stack in a rush. *foreign* is the fraction of claims by users of other stacks."""

    limits: Limits
    foreign: float = 0.0
    refused: dict[str, float] = field(default_factory=dict)
    requested: float = 0.0
    served: float = 0.0
    claims: float = 0.0
    unsettled: float = 0.0
    unlogged: float = 0.0
    unsettled_max: float = 0.0
    unlogged_max: float = 0.0
    _tokens: float = 0.0
    _running: float = 0.0
    _claimed_peak: float = 0.0
    _payouts: float = PAYOUTS_AT_FIRST
    _retries: deque[tuple[float, float]] = field(default_factory=deque)

    def step(self, at_s: float, grabs_per_s: float, winners: float, *, is_up: bool = True) -> None:
        """Run one step, in which the fraction *winners* of the grabs wins."""
        grabs = grabs_per_s * STEP_S
        self.requested += grabs
        while self._retries and self._retries[0][0] <= at_s:
            grabs += self._retries.popleft()[1]
        refused_before = sum(self.refused.values())
        if is_up:
            self._take(grabs, winners)
            self._settle()
        else:
            self._pass("lost", grabs, 0.0)
        refused = sum(self.refused.values()) - refused_before
        if refused:
            self._retries.append((at_s + TRY_AGAIN_S, refused * TRY_AGAIN))

    def _pass(self, line: str, load: float, room: float) -> float:
        """Return the part of the load that a limit accepts, and count the rest as refused."""
        passed = min(load, max(room, 0.0))
        if load - passed > 1e-6:  # noqa: PLR2004 - rounding
            self.refused[line] = self.refused.get(line, 0.0) + load - passed
        return passed

    def _take(self, grabs: float, winners: float) -> None:
        limits = self.limits
        self._tokens = min(limits.api_burst, self._tokens + limits.api_per_s * STEP_S)
        grabs = self._pass("api_per_s", grabs, self._tokens)
        self._tokens -= grabs

        mean_s = winners * WINNER_S + (1 - winners) * LOSER_S
        each_per_s = min(REQUESTS_PER_CONCURRENCY, 1 / mean_s)
        wanted = min(limits.environments, grabs / STEP_S / each_per_s)
        self._running = max(self._running, min(limits.warm_environments, limits.environments))
        started = min(max(0.0, wanted - self._running), ENVIRONMENTS_PER_S * STEP_S)
        self._running += started
        ready = self._running - (started if started and START_S > STEP_S else 0)
        line = "environments" if self._running >= limits.environments else "warm_environments"
        grabs = self._pass(line, grabs, ready * each_per_s * STEP_S)

        cpu_s = (1 - winners) * LOSER_CPU_S + winners * WINNER_CPU_S
        grabs = self._pass("shards", grabs, limits.shards * STEP_S / cpu_s)

        claims = grabs * winners
        of_index = limits.work_shards * PARTITION_WRITE_UNITS / INDEX_UNITS_PER_CLAIM * STEP_S
        kept = self._pass("work_shards", claims, of_index)
        # An on-demand table sustains twice its highest load so far, up to its maximum.
        units = min(limits.table_units, max(limits.warm_units, 2 * self._claimed_peak))
        line = "table_units" if units >= limits.table_units else "warm_units"
        kept = self._pass(line, kept, units / LEDGER.shares * STEP_S)
        self._claimed_peak = max(self._claimed_peak, kept * LEDGER.shares / STEP_S)
        self.served += grabs - claims + kept
        self.claims += kept
        self.unsettled += kept
        self.unlogged += kept * SENDS_PER_CLAIM

    def _settle(self) -> None:
        limits = self.limits
        more = min(limits.payouts, self._payouts + PAYOUTS_PER_S * STEP_S)
        self._payouts = more if self.unsettled > CLAIMS_PER_READ else PAYOUTS_AT_FIRST
        per_claim = LEDGER.accounts + self.foreign * UNITS_PER_FOREIGN
        of_payouts = min(self._payouts, limits.payouts) * CLAIMS_PER_READ / PAYOUT_S
        settled = min(self.unsettled, STEP_S * min(of_payouts, limits.settling_units / per_claim))
        self.unsettled -= settled
        self.unlogged -= min(self.unlogged, limits.log_per_s * STEP_S)
        self.unsettled_max = max(self.unsettled_max, self.unsettled)
        self.unlogged_max = max(self.unlogged_max, self.unlogged)


@dataclass(frozen=True, slots=True)
class Rush:
    """Rush spread over *cells* stacks. One cell may get *heat* times its load, or be lost."""

    grabs_per_s: float
    winners: float
    limits: Limits
    cells: int = 1
    heat: float = 1.0
    lost_s: tuple[float, float] | None = None

    def play(self) -> Stack:
        """Simulate one cell until claims are settled and sends logged, or two hours have passed."""
        stack = Stack(self.limits, foreign=1 - 1 / self.cells)
        steps = 0
        while (at_s := steps * STEP_S) < SECONDS_MAX:
            is_up = not (self.lost_s and self.lost_s[0] <= at_s < self.lost_s[1])
            grabs_per_s = _at(at_s, self.grabs_per_s) / self.cells * self.heat
            stack.step(at_s, grabs_per_s, self.winners, is_up=is_up)
            steps += 1
            if at_s > RUSH_S and stack.unsettled < 1 and stack.unlogged < 1:
                break
        return stack


def _at(at_s: float, peak: float) -> float:
    if at_s < RISE_S + HOLD_S:
        return peak * min(1.0, at_s / RISE_S)
    return max(0.0, peak * (1 - (at_s - RISE_S - HOLD_S) / FALL_S))


def limits_of(rating: str, **overrides: float) -> Limits:
    """Return the limits of a stack with a LedgerRating and *overrides*."""
    deployed = read_template()
    ledger = ledger_of(deployed, rating)
    route = deployed["Resources"]["ApiStage"]["Properties"]["DefaultRouteSettings"]
    built: dict[str, float] = {
        "api_per_s": deployed["Parameters"]["RouteRate"]["Default"],
        "api_burst": route["ThrottlingBurstLimit"],
        "table_units": max(TABLE_UNITS_QUOTA, ledger["SharesUnits"]),
        "warm_units": ledger["SharesUnits"],
        # Users do not wait for settlement, so a slow scale-up of this table only delays payouts.
        "settling_units": max(TABLE_UNITS_QUOTA, ledger["AccountsUnits"]),
        "work_shards": ledger["WorkShards"],
        "payouts": ledger["Payouts"],
        "log_per_s": report.read()["log"]["figures"]["entries_per_s"],
    }
    return Limits(**(built | overrides))


LARGE: dict[str, float] = {
    "api_per_s": 100_000,
    "api_burst": 50_000,
    "environments": 10_000,
    "shards": 5,
}
"""Limits of an app with 1,000,000 users, except those of its tables."""
MEDIUM: dict[str, float] = {
    "api_per_s": 50_000,
    "api_burst": 25_000,
    "environments": 5_000,
    "warm_environments": 5_000,
}
DEFAULT = limits_of("5000")
ASKED = limits_of("5000", **LARGE, table_units=80_000)
PREPARED = limits_of("10000", **LARGE, warm_environments=10_000)
CELL = limits_of("10000", **MEDIUM, shards=3)
CELL_B = limits_of("50000", **MEDIUM, shards=4)

A_PER_S, A_WINNERS = 760_000, 0.1
"""Interpretation A of WeChat's peak: 760,000 grabs/s, a tenth of which win. In B, all win."""

RUSHES = {
    "default": Rush(10_000, A_WINNERS, DEFAULT),
    "default_at_100000": Rush(100_000, A_WINNERS, DEFAULT),
    "asked": Rush(100_000, A_WINNERS, ASKED),
    "prepared": Rush(100_000, A_WINNERS, PREPARED),
    "a_of_24_cells": Rush(A_PER_S, A_WINNERS, CELL, cells=24),
    "a_hot_cell": Rush(A_PER_S, A_WINNERS, CELL, cells=24, heat=1.4),
    "a_lost_cell": Rush(A_PER_S, A_WINNERS, CELL, cells=24, lost_s=(30, 60)),
    "b_of_32_cells": Rush(A_PER_S, 1.0, CELL_B, cells=32),
    "b_hot_cell": Rush(A_PER_S, 1.0, CELL_B, cells=32, heat=1.4),
}


def line_of(name: str, rush: Rush, stack: Stack) -> Mapping[str, Any]:
    """Return the result of a rush: percentages of grabs, and the longest queues."""
    refused = {
        line: round(100 * count / stack.requested, 1)
        for line, count in sorted(stack.refused.items(), key=lambda item: -item[1])
    }
    return {
        "rush": name,
        "cells": rush.cells,
        "grabs_per_s": rush.grabs_per_s,
        "served_percent": round(100 * stack.served / stack.requested, 1),
        "refused_tries_percent": refused,
        "unsettled_max": round(stack.unsettled_max),
        "unlogged_max": round(stack.unlogged_max),
    }


def measure() -> dict[str, Any]:
    """Run all rushes, print a line for each, and return the percentages of served grabs."""
    figures: dict[str, Any] = {}
    for name, rush in RUSHES.items():
        line = line_of(name, rush, rush.play())
        print(line, flush=True)
        figures[name] = line["served_percent"]
    return figures
