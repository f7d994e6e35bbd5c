"""A host's own wallet, and its setup."""
