"""Fairness: seeds, commitments, beacon rounds, public log."""
