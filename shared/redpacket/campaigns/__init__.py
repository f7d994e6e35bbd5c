"""Campaigns: plan, budget, audience."""
