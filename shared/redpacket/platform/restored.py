"""Mark of rows that an operator restored from a backup, for the CLI and the stream's reader."""

RESTORED = "restored_at_ms"
"""Attribute of a restored row. Its insertion causes no events, because they were announced."""
