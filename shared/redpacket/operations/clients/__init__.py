"""Clients of remote services for operations."""
