"""What waits for another operator: asked for, approved, rejected."""
