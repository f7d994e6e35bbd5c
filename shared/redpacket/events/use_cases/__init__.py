"""Outgoing events: from row changes to webhooks (docs/adr/0037)."""
