"""HTTP API of events."""
