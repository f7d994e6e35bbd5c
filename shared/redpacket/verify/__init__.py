"""Public verifier: `python3 -m redpacket.verify` needs only Python and the `redpacket` package.

`command.py` documents the arguments. Separate modules verify packets, a lottery day's draws, and
the log of commitments.
"""
