"""Lottery: prizes, stock, odds, draws and winners."""
