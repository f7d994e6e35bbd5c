"""HTTP API of reconciliation."""
