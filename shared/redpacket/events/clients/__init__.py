"""Clients of remote services for events."""
