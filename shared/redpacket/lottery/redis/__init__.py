"""Redis adapters of lottery."""
