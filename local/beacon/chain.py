"""A chain of one signer, where drand's have a threshold of many."""

import hashlib
import json
import secrets
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Self

from redpacket.fairness.bls import public_key_of, sign
from redpacket.fairness.model.beacon import BeaconChain

SCHEME = "bls-unchained-g1-rfc9380"
BEACON_ID = "local"
PERIOD_S = 1
"""drand's quicknet has 3: a person at a terminal waits less here."""

_KEY_BYTES = 31
"""Below the order of the group."""


def hash_of(
    period_s: int, genesis_s: int, public_key: bytes, group_hash: bytes, beacon_id: str
) -> str:
    """Return the hash that names a chain, by drand's formula."""
    times = period_s.to_bytes(4, "big") + genesis_s.to_bytes(8, "big")
    return hashlib.sha256(times + public_key + group_hash + beacon_id.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class LocalChain:
    """The secret of a chain, and when it began."""

    secret: int
    genesis_s: int
    period_s: int = PERIOD_S

    @classmethod
    def of(cls, file: Path, now_s: int) -> Self:
        """Read the chain in *file*; one that begins now is made where the file is missing."""
        if not file.exists():
            made = cls(int.from_bytes(secrets.token_bytes(_KEY_BYTES)), now_s)
            file.touch(mode=0o600)
            file.write_text(json.dumps(asdict(made)))
        return cls(**json.loads(file.read_text()))

    @property
    def public_key(self) -> bytes:
        """Public key that verifies rounds."""
        return public_key_of(self.secret)

    @property
    def chain(self) -> BeaconChain:
        """The chain as a deployment names it."""
        return BeaconChain(str(self.info()["hash"]), self.genesis_s, self.period_s)

    def info(self) -> dict[str, object]:
        """Return drand's description of a chain."""
        group_hash = hashlib.sha256(self.public_key).digest()
        return {
            "public_key": self.public_key.hex(),
            "period": self.period_s,
            "genesis_time": self.genesis_s,
            "hash": hash_of(self.period_s, self.genesis_s, self.public_key, group_hash, BEACON_ID),
            "groupHash": group_hash.hex(),
            "schemeID": SCHEME,
            "metadata": {"beaconID": BEACON_ID},
        }

    def signature(self, round_no: int) -> bytes:
        """Sign a round."""
        return sign(self.secret, round_no)
