"""HTTP API of lottery."""
