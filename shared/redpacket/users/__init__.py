"""Users: profiles, display names and notices."""
