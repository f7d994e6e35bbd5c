"""The simulator of payment providers, with a folder for each, and their entries in stack and page.

One core has the books, one policy misbehaves; each provider only translates. Stacks reach it over
HTTP, flows in process. It shares no line with the product, so that a mistake of ours can't hide in
both.
"""
