"""Payments and withdrawals through payment providers."""
