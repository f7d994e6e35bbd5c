"""Unit of account of a deployment. The API's `_fen` fields count its minor units."""

from __future__ import annotations

from typing import NamedTuple


class Unit(NamedTuple):
    """Unit of all amounts: its name, symbol and number of decimals."""

    name: str = "CNY"
    symbol: str = "¥"
    decimals: int = 2

    @classmethod
    def of(cls, text: str) -> Unit:
        """Parse `NAME,DECIMALS,SYMBOL`. Raises ValueError."""
        name, decimals, symbol = text.split(",")
        return cls(name, symbol, int(decimals))

    def digits(self, fen: int, groups: str = "") -> str:
        """Return an amount with all decimals; *groups* separates thousands."""
        whole, minor = divmod(abs(fen), 10**self.decimals)
        sign, text = "-" if fen < 0 else "", f"{whole:,}".replace(",", groups)
        return f"{sign}{text}.{minor:0{self.decimals}d}" if self.decimals else f"{sign}{text}"

    def text(self, fen: int) -> str:
        """Return an amount for people; a symbol that ends with a letter follows the number."""
        number, sign = self.digits(abs(fen), ","), "-" if fen < 0 else ""
        follows = self.symbol[-1].isalpha()
        return f"{sign}{number} {self.symbol}" if follows else f"{sign}{self.symbol}{number}"
