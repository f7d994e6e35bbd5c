"""HTTP API of operations."""
