"""AWS's other services, and a light client for all of them."""
