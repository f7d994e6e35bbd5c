"""Public verifier: `python3 -m redpacket.verify` needs only Python and this package.

`command.py` documents the arguments. Separate modules verify packets, lottery days, draws, and the
log of commitments.
"""
