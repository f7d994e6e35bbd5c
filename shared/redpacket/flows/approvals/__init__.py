"""Approvals: changes that need a second operator."""
