"""Fairness: seeds, commitments and the public log."""
