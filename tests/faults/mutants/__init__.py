"""Every safety condition, to be removed one at a time; `python -m tests.faults.mutants` does it."""

from __future__ import annotations

from tests.faults.mutants import (
    beacon,
    cache,
    campaigns,
    claims,
    closing,
    draws,
    edits,
    erasure,
    events,
    gateways,
    ledger,
    loads,
    log,
    operators,
    partial,
    parts,
    payments,
    reconciliation,
    security,
    sweeps,
)
from tests.faults.mutants.mutant import Mutant

MUTANTS: list[Mutant] = [
    *claims.MUTANTS,
    *ledger.MUTANTS,
    *closing.MUTANTS,
    *campaigns.MUTANTS,
    *parts.MUTANTS,
    *reconciliation.MUTANTS,
    *cache.MUTANTS,
    *draws.MUTANTS,
    *edits.MUTANTS,
    *loads.MUTANTS,
    *partial.MUTANTS,
    *payments.MUTANTS,
    *sweeps.MUTANTS,
    *security.MUTANTS,
    *gateways.MUTANTS,
    *operators.MUTANTS,
    *beacon.MUTANTS,
    *events.MUTANTS,
    *log.MUTANTS,
    *erasure.MUTANTS,
]
