"""Simulators of chat platforms, each with a group of three members and a bot."""
