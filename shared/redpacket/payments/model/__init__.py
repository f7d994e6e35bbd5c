"""Domain model of payments."""
