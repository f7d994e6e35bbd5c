"""Ports of the public log of commitments."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from redpacket.fairness.model.log import Commitment, SignedHead


class PublicLog(Protocol):
    """Public log. The reconciliation context depends on this Protocol."""

    def find_signed(self) -> SignedHead | None:
        """Return the newest signed head."""

    def list_entries(self, first: int, limit: int) -> list[tuple[int, Commitment]]:
        """Return the existing entries among *limit* indexes from *first* on, in order."""


class HeadSigner(Protocol):
    """Signer of heads, whose private key never leaves the key service. Tests have a double."""

    def sign(self, message: bytes) -> bytes:
        """Return the Ed25519 signature."""

    def public_key(self) -> bytes:
        """Return the public key of 32 bytes, which never changes."""
