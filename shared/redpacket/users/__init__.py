"""Users: profiles and display names."""
