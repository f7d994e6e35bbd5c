"""A payment gateway on this machine: WeChat Pay's API v3, both ways, with books of its own.

It shares no line with the product, so that a mistake of ours can't hide in both.
"""
