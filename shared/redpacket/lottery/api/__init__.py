"""HTTP API of the lottery."""
