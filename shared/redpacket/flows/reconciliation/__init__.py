"""Compares the whole ledger with itself, and one packet at a time."""
