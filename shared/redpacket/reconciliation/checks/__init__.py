"""The invariants of docs/invariants.md as code, for tests and for audits in production."""
