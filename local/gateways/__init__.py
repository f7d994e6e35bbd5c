"""The simulator of both payment providers: WeChat Pay's API v3, and a host's own wallet.

One core has the books, one policy misbehaves; each provider only translates. Stacks reach it over
HTTP, flows in process. It shares no line with the product, so that a mistake of ours can't hide in
both.
"""
