"""Wallet of the host app."""
