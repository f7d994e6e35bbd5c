"""Domain model of events."""
