"""Users and their accounts: deposits, profiles, erasure."""
