"""Reconciliation of the whole ledger, and audits of single packets."""
