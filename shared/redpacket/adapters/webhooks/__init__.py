"""Receivers of events: how they are asked, and how messages name deliveries."""
