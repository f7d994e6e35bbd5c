"""The wallet of an embedding app on this machine: what `docs/host-wallet.md` asks of a host.

As the gateway beside it, it shares no line with the product, and has books of its own.
"""
