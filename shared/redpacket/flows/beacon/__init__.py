"""Rounds of the public beacon: named before they exist, fetched, and known by each process."""
