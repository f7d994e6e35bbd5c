"""What the system does, step by step, over the ports."""
