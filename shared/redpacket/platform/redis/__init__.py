"""Redis client."""
