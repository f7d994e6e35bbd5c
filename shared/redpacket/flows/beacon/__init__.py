"""The public log of commitments: appended to and signed by one function, read by everybody."""
