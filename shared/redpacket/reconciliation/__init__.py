"""Reconciliation of all rows."""
