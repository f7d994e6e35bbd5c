"""HTTP API of users."""
