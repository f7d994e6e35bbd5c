"""The invariants of docs/invariants.md as code: run after every test, and by audits in production.

Each check returns the differences it finds, and none where all is well.
"""
