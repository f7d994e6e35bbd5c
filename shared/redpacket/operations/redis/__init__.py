"""Redis adapters of operations."""
