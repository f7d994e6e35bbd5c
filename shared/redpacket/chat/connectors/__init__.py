"""Chat platforms."""
