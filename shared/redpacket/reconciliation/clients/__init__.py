"""AWS clients for reconciliation."""
