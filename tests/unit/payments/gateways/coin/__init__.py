"""Simulator of the coin, in a folder beside those of `local/gateways/`."""
