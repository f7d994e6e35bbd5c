"""Mark of rows that an operator restored from a backup; the CLI and the stream reader share it."""

RESTORED = "restored_at_ms"
"""Attribute of restored rows. Inserting such a row causes no events, because it is not new."""
