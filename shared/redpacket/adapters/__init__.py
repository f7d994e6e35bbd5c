"""One technology and one port each."""
