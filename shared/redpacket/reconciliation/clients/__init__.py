"""Clients of AWS for reconciliation."""
