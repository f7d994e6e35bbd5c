"""AWS clients of the hot functions."""
