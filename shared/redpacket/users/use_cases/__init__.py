"""Use cases of users."""
