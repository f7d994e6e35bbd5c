"""HTTP API of packets."""
