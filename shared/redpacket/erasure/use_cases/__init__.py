"""Use cases of erasure."""
