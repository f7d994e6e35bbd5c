"""Implementations of the ports; each has one technology."""
