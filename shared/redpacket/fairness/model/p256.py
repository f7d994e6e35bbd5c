"""Verification of ECDSA signatures (P-256, SHA-256) in pure Python; no input is secret."""

from __future__ import annotations

import hashlib
from functools import lru_cache
from typing import TypeAlias

Point: TypeAlias = tuple[int, int] | None
"""None is the point at infinity."""

_P = 2**256 - 2**224 + 2**192 + 2**96 - 1
_N = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
_B = 0x5AC635D8AA3A93E7B3EBBD55769886BC651D06B0CC53B0F63BCE3C3E27D2604B
_G: Point = (
    0x6B17D1F2E12C4247F8BCE6E563A440F277037D812DEB33A0F4A13945D898C296,
    0x4FE342E2FE1A7F9B8EE7EB4A7C0F9E162BCE33576B315ECECBB6406837BF51F5,
)

_KEY_PREFIX = bytes.fromhex("3059301306072a8648ce3d020106082a8648ce3d03010703420004")
"""What comes before the two coordinates in the DER of a public key (SubjectPublicKeyInfo)."""

_SIZE = 32
_SEQUENCE, _INTEGER, _LONG = b"\x30", b"\x02", 0x80


@lru_cache(maxsize=16)
def has_signed(public_key: bytes, message: bytes, signature: bytes) -> bool:
    """Return whether a DER signature is by *public_key* over a message; cache recent results.

    Raises ValueError if *public_key* is not the DER of a key on this curve.
    """
    point = _point_of(public_key)
    parts = _integers_of(signature)
    if parts is None or not all(0 < part < _N for part in parts):
        return False
    r, s = parts
    inverse = pow(s, -1, _N)
    digest = int.from_bytes(hashlib.sha256(message).digest())
    found = _sum_of(digest * inverse % _N, r * inverse % _N, point)
    return found is not None and found[0] % _N == r


def _point_of(public_key: bytes) -> Point:
    rest = public_key.removeprefix(_KEY_PREFIX)
    x, y = int.from_bytes(rest[:_SIZE]), int.from_bytes(rest[_SIZE:])
    is_whole = len(public_key) == len(_KEY_PREFIX) + 2 * _SIZE == len(_KEY_PREFIX) + len(rest)
    if not is_whole or max(x, y) >= _P or (y * y - x**3 + 3 * x - _B) % _P:
        raise ValueError("not a public key on P-256, in DER")
    return x, y


def _integers_of(signature: bytes) -> tuple[int, int] | None:
    """Read a SEQUENCE of two INTEGERs; None for any other form, or a longer one of these."""
    tag, rest = signature[:1], signature[2:]
    if tag != _SEQUENCE or list(signature[1:2]) != [len(rest)]:
        return None
    found = []
    for _ in range(2):
        tag, size, rest = rest[:1], sum(rest[1:2]), rest[2:]
        part, rest = rest[:size], rest[size:]
        if tag != _INTEGER or not part or len(part) != size or size > _SIZE + 1:
            return None
        is_padded = part[0] == 0 and size > 1 and part[1] < _LONG
        if part[0] >= _LONG or is_padded:
            return None
        found.append(int.from_bytes(part))
    return None if rest else (found[0], found[1])


def _add(one: Point, other: Point) -> Point:
    if one is None or other is None:
        return one or other
    (x1, y1), (x2, y2) = one, other
    if x1 == x2:
        if (y1 + y2) % _P == 0:
            return None
        slope = (3 * x1 * x1 - 3) * pow(2 * y1, -1, _P) % _P
    else:
        slope = (y2 - y1) * pow(x2 - x1, -1, _P) % _P
    x = (slope * slope - x1 - x2) % _P
    return x, (slope * (x1 - x) - y1) % _P


def _sum_of(of_base: int, of_point: int, point: Point) -> Point:
    """Return of_base * G + of_point * point, both at once, from the highest bit."""
    table = (None, _G, point, _add(_G, point))
    found: Point = None
    for bit in reversed(range(256)):
        found = _add(found, found)
        found = _add(found, table[(of_base >> bit & 1) | (of_point >> bit & 1) << 1])
    return found
