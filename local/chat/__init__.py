"""Simulators of chat platforms, each with a bot and a group, at first of three members."""
