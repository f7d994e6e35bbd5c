"""The public verifier: `python3 -m redpacket.verify` needs Python and the rules of `domain/` alone.

`command.py` says how it is used. Each thing that is checked has its file: packets, days of a
lottery, their draws, rounds of the beacon, the log of commitments.
"""
