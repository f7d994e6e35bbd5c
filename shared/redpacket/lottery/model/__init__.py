"""Domain model of lottery."""
