"""Verification of Ed25519 signatures (RFC 8032) in pure Python; no input is secret."""

from __future__ import annotations

import hashlib
from functools import lru_cache
from typing import TypeAlias

Point: TypeAlias = tuple[int, int, int, int]
"""Extended coordinates X, Y, Z and T: x = X / Z, y = Y / Z and x * y = T / Z."""

KEY_BYTES = 32

_P = 2**255 - 19
_ORDER = 2**252 + 27742317777372353535851937790883648493
_D = -121665 * pow(121666, -1, _P) % _P
_ROOT_OF_MINUS_1 = pow(2, (_P - 1) // 4, _P)
_ZERO: Point = (0, 1, 1, 0)


@lru_cache(maxsize=16)
def has_signed(public_key: bytes, message: bytes, signature: bytes) -> bool:
    """Return whether *public_key* verifies *signature* over *message*; cache recent results.

    Raises ValueError if *public_key* is not a key on this curve.
    """
    key = _point_of(public_key)
    start, s = signature[:KEY_BYTES], int.from_bytes(signature[KEY_BYTES:], "little")
    if len(signature) != 2 * KEY_BYTES or s >= _ORDER:
        return False
    digest = int.from_bytes(hashlib.sha512(start + public_key + message).digest(), "little")
    x, y, z, t = key
    return _encoded(_sum_of(s, digest % _ORDER, (_P - x, y, z, _P - t))) == start


def _point_of(text: bytes) -> Point:
    number = int.from_bytes(text, "little")
    is_odd, y = number >> 255, number & (1 << 255) - 1
    square = (y * y - 1) * pow(_D * y * y + 1, -1, _P) % _P
    x = pow(square, (_P + 3) // 8, _P)
    if x * x % _P != square:
        x = x * _ROOT_OF_MINUS_1 % _P
    if len(text) != KEY_BYTES or y >= _P or x * x % _P != square or (is_odd and not x):
        raise ValueError("not a 32-byte Ed25519 public key")
    if x & 1 != is_odd:
        x = _P - x
    return x, y, 1, x * y % _P


_BASE = _point_of(bytes([88]) + bytes([102]) * 31)


def _encoded(point: Point) -> bytes:
    x, y, z, _ = point
    inverse = pow(z, -1, _P)
    return (y * inverse % _P | (x * inverse % _P & 1) << 255).to_bytes(KEY_BYTES, "little")


def _add(point: Point, other: Point) -> Point:
    (x1, y1, z1, t1), (x2, y2, z2, t2) = point, other
    low, high = (y1 - x1) * (y2 - x2), (y1 + x1) * (y2 + x2)
    twisted, doubled = 2 * _D * t1 * t2, 2 * z1 * z2
    e, f, g, h = high - low, doubled - twisted, doubled + twisted, high + low
    return e * f % _P, g * h % _P, f * g % _P, e * h % _P


def _sum_of(of_base: int, of_point: int, point: Point) -> Point:
    """Return of_base * base point + of_point * point, computed together from the highest bit."""
    table = (_ZERO, _BASE, point, _add(_BASE, point))
    total = _ZERO
    for bit in reversed(range(253)):
        total = _add(total, total)
        total = _add(total, table[(of_base >> bit & 1) | (of_point >> bit & 1) << 1])
    return total
