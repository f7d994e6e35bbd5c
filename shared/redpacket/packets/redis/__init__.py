"""Redis adapters of packets."""
