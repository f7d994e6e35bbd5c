"""Mark of rows that an operator restored from a backup, for the CLI and the stream's reader."""

RESTORED = "restored_at_ms"
"""Attribute of restored rows. Inserting such a row causes no events, because it is not new."""
