"""Rounds of the public beacon: chosen before they exist, fetched, and cached."""
