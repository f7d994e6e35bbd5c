"""Domain model of the lottery."""
