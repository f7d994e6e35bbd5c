"""Parser for the proof of a lottery day."""

from __future__ import annotations

import re
from dataclasses import dataclass

from redpacket.fairness.model.days import SEED_BYTES, chain_commitment, days_of_chain
from redpacket.verify.files import Document, Unreadable, get


@dataclass(frozen=True, slots=True)
class Day:
    """One day of a lottery, with its seed."""

    campaign_id: str
    name: str
    seed: bytes

    @property
    def commitment(self) -> str:
        """Commitment that follows from the seed, to compare with the published commitment."""
        return chain_commitment(self.campaign_id, self.seed, self.name)


def day_of(proof: Document) -> Day:
    """Return the day that a proof describes. Raises Unreadable."""
    seed_text, name = get(proof, "seed", str), get(proof, "day", str)
    if not re.fullmatch(rf"[0-9a-f]{{{2 * SEED_BYTES}}}", seed_text):
        raise Unreadable(f"seed is not {SEED_BYTES} bytes in hex")
    try:
        days_of_chain(name)
    except ValueError as error:
        raise Unreadable(str(error)) from error
    return Day(get(proof, "campaign_id", str), name, bytes.fromhex(seed_text))
