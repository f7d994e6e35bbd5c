"""Payment providers, one folder per provider, with its simulator and its setup.

One core keeps the simulators' books, and one policy injects faults; each provider only translates
its wire format. The simulators share no code with the product, so that one mistake cannot hide in
both. In production, `local/publish.py` also uses the setups, for the page's configuration.
"""
