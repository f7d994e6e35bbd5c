"""Redis adapters of campaigns."""
