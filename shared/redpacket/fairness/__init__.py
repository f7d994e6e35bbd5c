"""Fairness: seeds, commitments, public log."""
