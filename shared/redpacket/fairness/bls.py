"""Signatures of drand's scheme bls-unchained-g1-rfc9380; a wrong one is False, and never an error.

A signature is in G1 and the public key in G2. Nothing is signed by a point off the
curve, outside the subgroup, in another encoding, or at infinity.
"""

from __future__ import annotations

import hashlib

from pyblst import BlstP1Element, BlstP2Element, final_verify, miller_loop

SIGNATURE_BYTES = 48
PUBLIC_KEY_BYTES = 96

_DST = b"BLS_SIG_BLS12381G1_XMD:SHA-256_SSWU_RO_NUL_"
_INFINITY_BIT = 0x40
_ROUND_BYTES = 8
_GENERATOR = BlstP2Element().uncompress(
    bytes.fromhex(
        "93e02b6052719f607dacd3a088274f65596bd0d09920b61ab5da61bbdc7f5049334cf11213945d57e5ac7d055d"
        "042b7e024aa2b2f08f0a91260805272dc51051c6e47ad4fa403b02b4510b647ae3d1770bac0326a805bbefd480"
        "56c8c121bdb8"
    )
)
"""The generator of G2, as all users of the curve have it."""


class PublicKey:
    """A chain's public key."""

    def __init__(self, key: bytes) -> None:
        """Read a compressed point; ValueError for a point outside the subgroup."""
        if len(key) != PUBLIC_KEY_BYTES or key[0] & _INFINITY_BIT:
            raise ValueError("not a public key")
        self._point = BlstP2Element().uncompress(key)

    def has_signed(self, round_no: int, signature: bytes) -> bool:
        """Return whether this is the key's signature of a round."""
        if len(signature) != SIGNATURE_BYTES or signature[0] & _INFINITY_BIT:
            return False
        if not 0 <= round_no < 2 ** (8 * _ROUND_BYTES):
            return False
        try:
            # Also checks the subgroup.
            point = BlstP1Element().uncompress(signature)
        except ValueError:
            return False
        hashed = BlstP1Element().hash_to_group(message(round_no), _DST)
        return bool(final_verify(miller_loop(point, _GENERATOR), miller_loop(hashed, self._point)))


def message(round_no: int) -> bytes:
    """Return what is signed of a round."""
    return hashlib.sha256(round_no.to_bytes(_ROUND_BYTES, "big")).digest()


def public_key_of(secret: int) -> bytes:
    """Return the public key of a secret one, for a beacon of one's own."""
    return bytes(_GENERATOR.scalar_mul(secret).compress())


def sign(secret: int, round_no: int) -> bytes:
    """Sign a round, for a beacon of one's own."""
    hashed = BlstP1Element().hash_to_group(message(round_no), _DST)
    return bytes(hashed.scalar_mul(secret).compress())
