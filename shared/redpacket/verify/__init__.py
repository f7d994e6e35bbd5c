"""The public verifier: `python3 -m redpacket.verify` needs only Python and this package.

`command.py` documents its use. Each subject has a file: packets, days of a lottery, their draws,
the log of commitments.
"""
