"""HTTP API of fairness."""
