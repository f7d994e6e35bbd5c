"""Cache on Valkey or Redis, with one server or a cluster."""
