"""Clients of remote services for packets."""
