"""HTTP API of campaigns."""
