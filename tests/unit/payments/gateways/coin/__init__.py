"""The coin's simulator, in a folder beside those of `local/gateways/`."""
