"""The `redpacket` command for operators and integrators."""
