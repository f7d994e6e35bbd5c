"""Use cases of a packet's life: send, grab, open, settle, sweep, refund and read."""
