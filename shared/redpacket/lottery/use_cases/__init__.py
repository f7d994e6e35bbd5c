"""Campaigns and their lotteries: edit, preheat, draw, read."""
