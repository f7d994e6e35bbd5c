"""Clocks of functions: each has its own."""

from __future__ import annotations

CLOCKS_DIFFER_MS = 5_000
"""By how much the clocks of two functions may differ."""
