"""Use cases of fairness."""
