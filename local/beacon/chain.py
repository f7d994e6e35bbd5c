"""A chain of one signer, where drand's have a threshold of many."""

import hashlib
import json
import secrets
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Self

from redpacket.bls import public_key_of, sign
from redpacket.domain.beacon import BeaconChain

SCHEME = "bls-unchained-g1-rfc9380"
PERIOD_S = 1
"""drand's quicknet has 3: a person at a terminal waits less here."""

_KEY_BYTES = 31
"""Below the order of the group."""


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
        """What everybody verifies rounds with."""
        return public_key_of(self.secret)

    @property
    def chain(self) -> BeaconChain:
        """The chain as a deployment names it."""
        return BeaconChain(str(self.info()["hash"]), self.genesis_s, self.period_s)

    def info(self) -> dict[str, object]:
        """Return drand's description of a chain; its hash is of all that it fixes."""
        group = hashlib.sha256(self.public_key).digest()
        fixed = (
            self.period_s.to_bytes(4, "big")
            + self.genesis_s.to_bytes(8, "big")
            + self.public_key
            + group
            + SCHEME.encode()
            + b"local"
        )
        return {
            "public_key": self.public_key.hex(),
            "period": self.period_s,
            "genesis_time": self.genesis_s,
            "hash": hashlib.sha256(fixed).hexdigest(),
            "groupHash": group.hex(),
            "schemeID": SCHEME,
            "metadata": {"beaconID": "local"},
        }

    def signature(self, round_no: int) -> bytes:
        """Sign a round."""
        return sign(self.secret, round_no)
