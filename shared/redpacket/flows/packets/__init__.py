"""A packet's life: sent, grabbed, opened, settled, swept, refunded, shown."""
