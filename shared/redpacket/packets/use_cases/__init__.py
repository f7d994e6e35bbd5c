"""The life of a packet: send, grab, open, settle, sweep, refund, read."""
