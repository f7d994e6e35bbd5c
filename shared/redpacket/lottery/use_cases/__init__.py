"""Use cases of campaigns and their lotteries: editing, preheating, drawing and reading."""
