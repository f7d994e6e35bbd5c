"""Interfaces of payments, and the sets of them that use cases take."""
