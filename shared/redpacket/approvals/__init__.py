"""Changes that a second operator approves, and operators' lists."""
