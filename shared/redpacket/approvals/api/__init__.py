"""HTTP API of approvals."""
