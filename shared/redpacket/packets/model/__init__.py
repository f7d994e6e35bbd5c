"""Domain model of packets."""
