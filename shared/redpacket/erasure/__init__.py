"""Erasure of a user's personal data."""
