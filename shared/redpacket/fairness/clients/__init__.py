"""Clients of remote services for fairness."""
