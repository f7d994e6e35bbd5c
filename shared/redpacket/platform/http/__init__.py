"""HTTP layer of all handlers."""
