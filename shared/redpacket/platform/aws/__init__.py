"""AWS clients of the public functions."""
