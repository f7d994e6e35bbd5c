"""The cache: Valkey or Redis, one server or a cluster."""
