"""Campaigns and their lotteries: edited, preheated, drawn, shown."""
