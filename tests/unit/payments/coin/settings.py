"""Environment variables of the coin."""

from redpacket.platform.settings import Settings, Variable


class CoinSettings(Settings):
    """Settings of the coin."""

    coin_key = Variable("COIN_KEY", str, default="")
    """Key of the coin's callbacks; empty disables them."""
