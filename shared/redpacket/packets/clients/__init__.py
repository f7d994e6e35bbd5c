"""Clients for the payment function, the picture bucket and the payout queue."""
