"""Clients for remote services that payments use."""
