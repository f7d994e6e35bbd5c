"""The bodies of the HTTP contract, by feature; each door imports those that it reads."""
