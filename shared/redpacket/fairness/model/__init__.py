"""Domain model of fairness."""
