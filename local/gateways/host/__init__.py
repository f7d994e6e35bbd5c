"""Simulator of a host's own wallet, and its setup."""
