"""Use cases of campaigns."""
