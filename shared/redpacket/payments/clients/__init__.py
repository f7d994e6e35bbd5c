"""Clients of remote services for payments."""
