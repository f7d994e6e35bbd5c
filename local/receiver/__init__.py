"""Simulated webhook receiver: it verifies signatures, drops duplicates, and can be down."""
