"""AWS clients for all functions."""
