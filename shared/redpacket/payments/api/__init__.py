"""HTTP API of payments."""
