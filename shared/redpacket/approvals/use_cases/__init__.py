"""Use cases of approvals."""
