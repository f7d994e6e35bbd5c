"""Lottery: prizes, stock, odds, draws, winners."""
