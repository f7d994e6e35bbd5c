"""Payment providers: a folder for each, with its simulator and its setup.

One core keeps the simulators' books, and one policy injects faults; each provider only translates
its wire format. The simulators share no code with the product, so that one mistake cannot hide in
both. Production also uses a setup: `local/publish.py` makes the page's configuration from it.
"""
