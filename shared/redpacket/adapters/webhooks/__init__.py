"""Webhook receivers: sending, and the form of queue messages."""
