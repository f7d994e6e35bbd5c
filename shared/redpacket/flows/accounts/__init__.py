"""Users and their accounts: deposits and profiles."""
