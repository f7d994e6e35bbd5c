"""Packets: send, grab, open, settle, expire, refund, read."""
