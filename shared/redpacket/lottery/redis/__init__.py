"""Redis adapters of the lottery."""
