"""Code for the invariants in docs/invariants.md, used by tests and by production audits."""
