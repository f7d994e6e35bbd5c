"""A public beacon for this machine: drand's HTTP API over a chain with a key of its own."""
