"""Domain model of operations."""
