"""Public log of commitments: one function appends and signs, anyone can read."""
