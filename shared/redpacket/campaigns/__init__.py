"""Campaigns with their plans, budgets and audiences."""
